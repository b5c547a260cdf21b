// Engrams that one side writes are read by the other, byte for byte.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { address, commitment, core, filterOf, head, memory, open, pairOfAgent, pairOfOwner, seal, text } from '../lib/engram.js'
import { now, someone } from '../lib/keys.js'
import { ask, connect, live } from '../lib/relay.js'
import { good, start } from '../lib/stage.js'

const stage = await start()

/** Texts that a careless encoder or reader changes. */
const texts = {
  plain: 'The owner likes short answers.',
  unicode: 'Grüße, 日本語, עברית, 🦀👩‍👩‍👧, e\u0301, \u2028, \uFEFF, end',
  escapes: 'quote " backslash \\ slash / tab\t newline\n nul \u0000 del \u007f <b>&amp;</b>',
  spaces: '  before and after \n\n',
  digits: '{"slug":"core","profile":1e400}',
}
const largest = 'x'.repeat(65_535 - Buffer.byteLength(JSON.stringify(memory('mem/largest', ''))))

/** family is a new agent and its owner, each in nostr-tools and in engramctl. */
async function family() {
  const agent = someone()
  const owner = someone()
  const pair = pairOfAgent(agent, owner.pubkey)
  return {
    agent, owner, pair,
    ownerPair: pairOfOwner(owner, agent.pubkey),
    relay: await connect(stage.url, agent),
    ownerRelay: await connect(stage.url, owner),
    ctl: stage.as(agent, pair),
    ownerCtl: stage.as(owner, pair),
  }
}

/** write publishes a body as NIP-AE wants it: after the head there is. */
async function write(f, body, o = {}) {
  const newest = head(await ask(f.relay, filterOf(f.pair, body.slug)))
  const event = seal(f.pair, f.agent, body, { created_at: Math.max(now(), (newest?.created_at ?? 0) + 1), ...o })
  assert.equal(await f.relay.publish(event), '')
  return event
}

/** read gives the head's body, as the agent and as the owner. */
async function read(f, slug) {
  const asAgent = open(f.pair, head(await ask(f.relay, filterOf(f.pair, slug))))
  const asOwner = open(f.ownerPair, head(await ask(f.ownerRelay, filterOf(f.ownerPair, slug))))
  assert.deepEqual(asOwner, asAgent)
  return asAgent
}

test('nostr-tools writes, engramctl reads as agent and as owner', async () => {
  const f = await family()
  await write(f, core('I am Sami. [[mem/plain]]'), { tags: [['alt', 'agent engram']] })
  for (const [name, value] of Object.entries(texts)) await write(f, memory(`mem/${name}`, value))
  for (const ctl of [f.ctl, f.ownerCtl]) {
    assert.equal(good(await ctl(['mem', 'get', 'core'])), 'I am Sami. [[mem/plain]]')
    for (const [name, value] of Object.entries(texts)) {
      assert.equal(good(await ctl(['mem', 'get', name])), value, name)
      const hash = createHash('sha256').update(value).digest('hex')
      assert.equal(good(await ctl(['mem', 'hash', name])).trim(), hash)
    }
    const list = JSON.parse(good(await ctl(['mem', 'ls', '--json'])))
    assert.equal(list.partial, false)
    assert.deepEqual(list.memories.map(m => m.slug), Object.keys(texts).sort().map(name => `mem/${name}`))
  }
  const section = good(await f.ctl(['core']))
  assert.match(section, /^\[Agent Memory — core\]/)
  assert.match(section, /I am Sami/)
})

/** what a body that engramctl wrote says beside its place in the agent's log (docs/trust.md) */
function unlinked(body) {
  const { chain, ...rest } = body
  assert.match(chain.w, /^[0-9a-f]{8}$/)
  assert.match(chain.root, /^[0-9a-f]{64}$/)
  assert.ok(Number.isSafeInteger(chain.n) && Number.isSafeInteger(chain.t))
  return rest
}

test('engramctl writes, nostr-tools reads as agent and as owner', async () => {
  const f = await family()
  good(await f.ctl(['mem', 'set', 'core', '-'], 'I am Sami.\n'))
  for (const [name, value] of Object.entries(texts)) good(await f.ctl(['mem', 'set', name, '-'], value))
  assert.deepEqual(unlinked(await read(f, 'core')), core('I am Sami.\n'))
  for (const [name, value] of Object.entries(texts)) assert.deepEqual(unlinked(await read(f, `mem/${name}`)), memory(`mem/${name}`, value))
  const all = await ask(f.ownerRelay, filterOf(f.ownerPair))
  assert.equal(all.length, 1 + Object.keys(texts).length)
  for (const event of all) {
    const { slug } = open(f.ownerPair, event)
    assert.deepEqual(event.tags.find(tag => tag[0] === 'd'), ['d', address(f.pair, slug)])
    assert.ok(!JSON.stringify(event).includes(slug), 'the slug is in the clear')
    assert.deepEqual(event.tags.filter(tag => tag[0] === 'commit'), [commitment(f.pair.key, event.content)])
  }
})

test('the largest body passes in both directions', async () => {
  const f = await family()
  await write(f, memory('mem/largest', largest))
  assert.equal(good(await f.ownerCtl(['mem', 'get', 'largest'])), largest)
  const other = largest.replaceAll('x', 'y')
  good(await f.ctl(['mem', 'set', 'largest', '-'], other))
  assert.equal(text(await read(f, 'mem/largest')), other)
  const over = await f.ctl(['mem', 'set', 'largest', '-'], other + 'y')
  assert.equal(over.code, 2, over.stderr)
  await assert.rejects(f.relay.publish(seal(f.pair, f.agent, memory('mem/largest', other + 'y'), { created_at: now() + 60 })), /^Error: invalid: /)
})

test('both sides take turns on one slug', async () => {
  const f = await family()
  const ahead = now() + 300 // a clock that runs fast, within what is tolerated
  await write(f, memory('mem/turns', 'one', { mood: { calm: true }, n: 1.50 }), { created_at: ahead })
  good(await f.ctl(['mem', 'set', 'turns', 'two']))
  const second = head(await ask(f.relay, filterOf(f.pair, 'mem/turns')))
  assert.equal(second.created_at, ahead + 1, 'created_at is max(now, T+1)')
  assert.deepEqual(unlinked(open(f.pair, second)), memory('mem/turns', 'two', { mood: { calm: true }, n: 1.5 }), 'unknown members are kept')
  await write(f, memory('mem/turns', 'three'))
  const log = JSON.parse(good(await f.ownerCtl(['mem', 'log', 'turns', '--json'])))
  assert.equal(log.versions.length, 3)
  assert.deepEqual(log.versions.map(v => v.current), [true, false, false])
  assert.equal(log.versions[1].id, second.id)
  assert.equal(good(await f.ctl(['mem', 'get', 'turns', '--at', second.id])), 'two')
  good(await f.ctl(['mem', 'restore', 'turns', '--at', log.versions[2].id]))
  assert.equal(text(await read(f, 'mem/turns')), 'one')
})

test('a stale version does not win, whoever sends it', async () => {
  const f = await family()
  good(await f.ctl(['mem', 'set', 'race', 'new']))
  const stale = seal(f.pair, f.agent, memory('mem/race', 'old'), { created_at: now() - 600 })
  await assert.rejects(f.relay.publish(stale), /^Error: duplicate: /)
  assert.equal(text(await read(f, 'mem/race')), 'new')
})

test('of two versions of one second both sides take the same', async () => {
  const f = await family()
  const at = now()
  const both = ['a', 'b'].map(value => seal(f.pair, f.agent, memory('mem/tie', value), { created_at: at }))
  await Promise.allSettled(both.map(event => f.relay.publish(event)))
  const want = text(open(f.pair, head(both)))
  assert.equal(text(await read(f, 'mem/tie')), want)
  assert.equal(good(await f.ctl(['mem', 'get', 'tie'])), want)
})

test('tombstones of one side are none to the other', async () => {
  const f = await family()
  for (const name of ['theirs', 'mine']) good(await f.ctl(['mem', 'set', name, 'x']))
  await write(f, memory('mem/mine', null))
  good(await f.ctl(['mem', 'rm', 'theirs']))
  assert.equal(text(await read(f, 'mem/theirs')), null)
  for (const name of ['mine', 'theirs']) {
    const gone = await f.ownerCtl(['mem', 'get', name])
    assert.equal(gone.code, 1)
    assert.equal(gone.stdout, '')
  }
  assert.deepEqual(JSON.parse(good(await f.ctl(['mem', 'ls', '--json']))).memories, [])
})

test('what cannot be read is never "absent"', async () => {
  const f = await family()
  // Encrypted to a key of nobody: the right shape, at the right address.
  const other = pairOfAgent(f.agent, someone().pubkey)
  const misplaced = seal(other, f.agent, memory('mem/odd', 'x'))
  const event = f.agent.sign({ kind: 30174, content: misplaced.content, tags: [['d', address(f.pair, 'mem/odd')], ['p', f.owner.pubkey]] })
  await f.relay.publish(event)
  for (const ctl of [f.ctl, f.ownerCtl]) assert.equal((await ctl(['mem', 'get', 'odd'])).code, 6)
  assert.equal((await f.ctl(['mem', 'get', 'never'])).code, 1)
})

test('an owner that listens sees at once what engramctl writes', async () => {
  const f = await family()
  const sub = await live(f.ownerRelay, { kinds: [30174], '#p': [f.owner.pubkey] })
  good(await f.ctl(['mem', 'set', 'now', 'hello']))
  assert.deepEqual(unlinked(open(f.ownerPair, await sub.next())), memory('mem/now', 'hello'))
  sub.close()
})

test('an agent may own itself', async () => {
  const agent = someone()
  const pair = pairOfAgent(agent, agent.pubkey)
  const relay = await connect(stage.url, agent)
  await relay.publish(seal(pair, agent, memory('mem/self', 'mine')))
  const ctl = stage.as(agent, pair)
  assert.equal(good(await ctl(['mem', 'get', 'self'])), 'mine')
  good(await ctl(['mem', 'set', 'self', 'still mine']))
  assert.equal(text(open(pair, head(await ask(relay, filterOf(pair, 'mem/self'))))), 'still mine')
})
