// The memory server of engramctl as the MCP client of the TypeScript SDK sees it.
// The client validates results against the tools' output schemas by itself (with
// ajv), once it has listed the tools.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

const bin = process.env.INTEROP_BIN ?? fileURLToPath(new URL('../../../bin', import.meta.url))
const failure = 'engramd/failure'
const reading = ['contract_list', 'contract_read', 'contract_search', 'contract_show', 'contract_summary', 'memory_list', 'memory_read', 'memory_recall', 'memory_search']
const writing = ['contract_move', 'contract_new', 'contract_say', 'memory_delete', 'memory_edit', 'memory_more', 'memory_note', 'memory_proposal', 'memory_write']
// These stand for several tools, whose answers differ.
const standing = ['memory_more', 'memory_proposal']

let dir, relay, agent, owner

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'engramd-mcp-'))
  relay = await startRelay()
  agent = await newKey('agent')
  owner = await newKey('owner')
})

after(async () => {
  relay?.child.kill('SIGTERM')
  await relay?.ended
  if (dir) await rm(dir, { recursive: true, force: true })
})

/** startRelay runs engramd until its line that says where it listens. */
async function startRelay() {
  const args = ['serve', '--listen', '127.0.0.1:0', '--metrics-listen', '127.0.0.1:0', '--data', join(dir, 'data')]
  const child = spawn(join(bin, 'engramd'), args, { cwd: dir, env: environment(), stdio: ['ignore', 'inherit', 'pipe'] })
  const ended = new Promise(done => child.on('exit', done).on('error', done))
  for await (const line of createInterface(child.stderr)) {
    const url = /\bready\b.*\burl="?(ws:\/\/[^\s"]+)/.exec(line)?.[1]
    if (url) {
      child.stderr.resume()
      return { child, ended, url }
    }
  }
  throw new Error('engramd did not get ready')
}

/** newKey makes a key file and gives its path and public key. */
async function newKey(name) {
  const file = join(dir, `${name}.key`)
  const { stdout } = await promisify(execFile)(join(bin, 'engramctl'), ['key', 'new', file], { env: environment() })
  return { file, pubkey: /npub1[a-z0-9]+/.exec(stdout)[0] }
}

/** environment is ours without anything that configures the programs. */
function environment(more = {}) {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('ENGRAM'))
  return { ...Object.fromEntries(kept), HOME: dir, XDG_CONFIG_HOME: dir, ...more }
}

/** connect starts the server and gives a client whose answers are validated. */
async function connect(t, env, ...args) {
  const transport = new StdioClientTransport({ command: join(bin, 'engramctl'), args: ['mcp', ...args], env: environment(env), stderr: 'pipe' })
  const errors = []
  const log = []
  transport.stderr.on('data', text => log.push(text))
  const client = new Client({ name: 'interop', version: '1' })
  client.onerror = error => { // a line on stdout that is no message
    if (!/unknown message ID/.test(error.message)) errors.push(error) // the answer to what was given up
  }
  await client.connect(transport)
  t.after(async () => {
    await client.close()
    assert.deepEqual(errors, [])
    assert.doesNotMatch(log.join(''), /panic|walnut/)
  })
  const { tools } = await client.listTools()
  return { client, tools }
}

/** call gives the data of a call that succeeds. */
async function call(client, name, args = {}) {
  const result = await client.callTool({ name, arguments: args })
  assert.ok(!result.isError, `${name}: ${result.content[0]?.text}`)
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent, `${name}: text and data differ`)
  return result.structuredContent
}

/** refused gives the failure of a call that fails. */
async function refused(client, name, args) {
  const result = await client.callTool({ name, arguments: args })
  assert.equal(result.isError, true, `${name} succeeded`)
  const f = result._meta[failure]
  assert.ok(result.content[0].text.startsWith(`${f.code}: `))
  assert.match(result.content[0].text, /\nWhat to do: /)
  return f
}

const asAgent = () => ({ ENGRAM_KEY_FILE: agent.file, ENGRAM_OWNER: owner.pubkey, ENGRAM_RELAYS: relay.url, ENGRAM_SNAPSHOTS: join(dir, 'snapshots') })

test('the agent uses every tool', async t => {
  const { client, tools } = await connect(t, asAgent(), '--tools', 'memory,contracts')
  assert.deepEqual(tools.map(tool => tool.name), [...reading, ...writing].sort())
  for (const tool of tools) {
    assert.equal(tool.annotations.readOnlyHint ?? false, reading.includes(tool.name), tool.name)
    assert.ok(tool.description && (tool.outputSchema || standing.includes(tool.name)), tool.name)
  }
  assert.match(client.getInstructions(), /long-term memory/)

  assert.deepEqual((await call(client, 'memory_list')).entries, [])
  assert.equal((await refused(client, 'memory_read', { slug: 'core' })).code, 'not_found')
  await call(client, 'memory_write', { slug: 'core', text: 'I am Sami.\n[[mem/trees/walnut]]' })
  const text = 'The walnut: “grüße” 𝄞\u2028\u0000 <b>&amp;</b>'
  const made = await call(client, 'memory_write', { slug: 'trees/walnut', text })
  assert.equal(made.outcome, 'created')
  const read = await call(client, 'memory_read', { slug: '[[mem/trees/walnut]]' })
  assert.equal(read.text, text)
  assert.equal(read.hash, made.hash)
  assert.deepEqual((await call(client, 'memory_read', { slug: 'core' })).links, ['mem/trees/walnut'])

  const changed = await call(client, 'memory_write', { slug: 'trees/walnut', text: 'cut in May', base: read.hash, mode: 'append' })
  const conflict = await refused(client, 'memory_write', { slug: 'trees/walnut', text: 'x', base: read.hash })
  assert.equal(conflict.code, 'conflict')
  assert.equal(conflict.theirs.hash, changed.hash)
  assert.equal((await call(client, 'memory_write', { slug: 'trees/walnut', text: `${text}\ncut in May` })).outcome, 'unchanged')

  const found = await call(client, 'memory_search', { query: 'WALNUT "cut in may"' })
  assert.deepEqual(found.hits.map(hit => [hit.slug, hit.matched]), [['mem/trees/walnut', 2]]) // core has no "cut in may", and "in may" are no terms
  const recalled = await call(client, 'memory_recall', { query: 'When was the walnut cut?' })
  assert.equal(recalled.hits[0].slug, 'mem/trees/walnut')
  assert.match(recalled.block, /cut in May/)
  assert.equal((await call(client, 'memory_more', { action: 'stats' })).memories, 2)
  const kept = await call(client, 'memory_more', { action: 'snapshot', label: 'before the clean-up' })
  assert.deepEqual([kept.outcome, kept.memories], ['created', 3]) // with what is kept of uses
  assert.equal((await call(client, 'memory_snapshot')).id, kept.id)
  const history = await call(client, 'memory_more', { action: 'history', slug: 'trees/walnut' })
  assert.deepEqual(history.versions.map(v => v.id), [changed.id, made.id])
  assert.equal((await call(client, 'memory_more', { action: 'restore', slug: 'trees/walnut', id: made.id.slice(0, 8) })).hash, made.hash)
  assert.equal((await call(client, 'memory_delete', { slug: 'trees/walnut' })).deleted, true)
  assert.equal((await refused(client, 'memory_read', { slug: 'trees/walnut' })).code, 'removed')
  assert.equal((await refused(client, 'memory_delete', { slug: 'core' })).code, 'core_protected')
  assert.equal((await refused(client, 'memory_read', { slug: 'No Slug' })).code, 'invalid_arguments')
  assert.equal((await refused(client, 'memory_read', { wrong: 1 })).code, 'invalid_arguments')
})

test('resources, prompt and completion', async t => {
  const { client } = await connect(t, asAgent())
  await call(client, 'memory_write', { slug: 'core', text: 'I am Sami.' })
  await call(client, 'memory_write', { slug: 'a/b/c', text: 'deep' })
  assert.deepEqual((await client.listResources()).resources.map(r => r.uri), ['engram://core'])
  const [template] = (await client.listResourceTemplates()).resourceTemplates
  for (const [uri, text] of [['engram://core', /^I am Sami\.$/], ['engram://mem/a/b/c', /^---\n[^]*\nsource: "?interop:[^]*\n---\ndeep$/]]) {
    assert.match((await client.readResource({ uri })).contents[0].text, text)
  }
  await assert.rejects(client.readResource({ uri: 'engram://mem/nothing' }), error => error.data[failure].code === 'not_found')
  const prompt = await client.getPrompt({ name: 'core' })
  assert.match(prompt.messages[0].content.text, /^\[Agent Memory — core\]\n[^]*\n\| I am Sami\.\n$/)
  const done = await client.complete({ ref: { type: 'ref/resource', uri: template.uriTemplate }, argument: { name: 'slug', value: 'a/' } })
  assert.deepEqual(done.completion.values, ['a/b/c'])
})

test('calls at once, and one that is given up', async t => {
  const { client } = await connect(t, asAgent())
  await Promise.all(Array.from({ length: 10 }, (_, i) => call(client, 'memory_append', { slug: 'log', text: `line ${i}` })))
  const { text } = await call(client, 'memory_read', { slug: 'log' })
  assert.equal(new Set(text.split('\n')).size, 10)
  const aborted = new AbortController()
  const search = client.callTool({ name: 'memory_search', arguments: { query: 'line' } }, undefined, { signal: aborted.signal })
  aborted.abort()
  await assert.rejects(search)
  assert.equal((await call(client, 'memory_search', { query: 'line' })).total, 1)
})

test('the owner reads and has no tool that writes', async t => {
  const { client, tools } = await connect(t, { ENGRAM_KEY_FILE: owner.file, ENGRAM_AGENT: agent.pubkey }, '--relay', relay.url)
  assert.deepEqual(tools.map(tool => tool.name), [...reading.filter(name => name.startsWith('memory_')), 'memory_more'].sort())
  assert.equal((await call(client, 'memory_read', { slug: 'core' })).text, 'I am Sami.')
  await assert.rejects(client.callTool({ name: 'memory_write', arguments: { slug: 'core', text: 'x' } }), /unknown tool/)
})

test('a relay that is down is no empty memory', async t => {
  // On a machine that knows nothing yet; what it is told waits there.
  const { client } = await connect(t, { ...asAgent(), HOME: join(dir, 'another'), ENGRAM_RELAYS: 'ws://127.0.0.1:1' })
  assert.equal((await refused(client, 'memory_list', {})).code, 'unreachable')
  assert.equal((await call(client, 'memory_write', { slug: 'x', text: 'x' })).queued, true)
  assert.equal((await call(client, 'memory_list', {})).partial, true)
  await assert.rejects(client.getPrompt({ name: 'core' }), error => error.data[failure].code === 'unreachable')
  const both = await connect(t, { ...asAgent(), ENGRAM_RELAYS: `ws://127.0.0.1:1 ${relay.url}` })
  const core = await call(both.client, 'memory_read', { slug: 'core' })
  assert.equal(core.partial, true)
  assert.ok(core.warnings.length > 0)
  assert.equal((await refused(both.client, 'memory_read', { slug: 'nothing' })).code, 'partial')
})
