// Which relays an agent uses, and whose agents a relay takes memory from.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { schnorr } from '@noble/curves/secp256k1.js'
import { npubEncode } from 'nostr-tools/nip19'
import { filterOf, memory, open, pairOfAgent, seal } from '../lib/engram.js'
import { call } from '../lib/http.js'
import { hex, now, someone } from '../lib/keys.js'
import { ask, connect, refused } from '../lib/relay.js'
import { good, start } from '../lib/stage.js'

test('engramctl reads the list that nostr-tools wrote (NIP-65), and calls nothing on this machine that it alone names', async () => {
  const [first, second] = [await start(), await start()]
  const [agent, owner] = [someone(), someone()]
  const pair = pairOfAgent(agent, owner.pubkey)
  const [here, there] = [await connect(first.url, agent), await connect(second.url, agent)]
  await here.publish(agent.sign({ kind: 10002, tags: [['r', second.url, 'write'], ['r', first.url, 'read']] }))
  await there.publish(seal(pair, agent, memory('mem/where', 'over there')))
  for (const who of [agent, owner]) {
    const refused = await first.as(who, pair)(['mem', 'get', 'where'])
    assert.equal(refused.code, 4)
    assert.match(refused.stderr, /only the agent's list names it/)
    assert.ok(refused.stderr.includes(new URL(second.url).host))
    assert.equal(good(await first.as(who, pair)(['--relay', first.url, '--relay', second.url, 'mem', 'get', 'where'])), 'over there')
  }

  good(await first.as(agent, pair)(['--no-discovery', 'mem', 'set', 'private', 'stays here']))
  const written = (relay, slug) => ask(relay, filterOf(pair, slug))
  const [event] = await written(here, 'mem/private')
  assert.equal(open(pair, event).value, 'stays here')
  assert.deepEqual(await written(there, 'mem/private'), [])
})

test('an approval by either side lets the agent write, until it is revoked', async () => {
  const owner = someone()
  const stage = await start('--write-owners', owner.pubkey)
  const agents = [someone(), someone()]
  const asOwner = async args => stage.ctl({ ENGRAM_KEY_FILE: await stage.keyFile(owner) }, args)
  const write = async (agent, value) => {
    const relay = await connect(stage.url, agent)
    return relay.publish(seal(pairOfAgent(agent, owner.pubkey), agent, memory('mem/x', value), { created_at: now() - 60 + value }))
  }
  for (const agent of agents) await refused(write(agent, 1), 'restricted: ')

  good(await asOwner(['agents', 'allow', npubEncode(agents[0].pubkey)]))
  assert.equal(await write(agents[0], 2), '')
  await refused(write(agents[1], 2), 'restricted: ')

  const relay = await connect(stage.url, owner)
  const [approval] = await ask(relay, { kinds: [30078], authors: [owner.pubkey], '#d': ['engramd/agents'] })
  assert.deepEqual(approval.tags.filter(tag => tag[0] === 'p'), [['p', agents[0].pubkey]])
  await relay.publish(owner.sign({ ...approval, created_at: approval.created_at + 1, tags: [...approval.tags, ['p', agents[1].pubkey]] }))
  assert.equal(await write(agents[1], 3), '')
  const listed = good(await asOwner(['agents', 'ls']))
  for (const agent of agents) assert.match(listed, new RegExp(npubEncode(agent.pubkey)))

  good(await asOwner(['agents', 'revoke', npubEncode(agents[1].pubkey)]))
  await refused(write(agents[1], 4), 'restricted: ')
  assert.equal(await write(agents[0], 4), '')
})

/** attest is a NIP-OA auth tag by an owner for an agent. */
function attest(by, whom, conditions = '') {
  const digest = createHash('sha256').update(`nostr:agent-auth:${whom}:${conditions}`).digest()
  return ['auth', by.pubkey, conditions, hex(schnorr.sign(digest, by.secret))]
}

test('so does a NIP-OA tag, for this agent and by this owner only', async () => {
  const [owner, agent, other] = [someone(), someone(), someone()]
  const stage = await start('--write-owners', owner.pubkey)
  const relay = await connect(stage.url, agent)
  const pair = pairOfAgent(agent, owner.pubkey)
  const write = tag => relay.publish(seal(pair, agent, memory('mem/vouched', 'x'), { tags: [tag] }))
  await refused(write(attest(owner, other.pubkey)), 'restricted: ')
  await refused(write(attest(other, agent.pubkey)), 'restricted: ')
  assert.equal(await write(attest(owner, agent.pubkey)), '')
})

test('and one beside the event: in AUTH for the connection, in x-auth-tag for the request', async () => {
  const [owner, agent, other] = [someone(), someone(), someone()]
  const stage = await start('--write-owners', owner.pubkey)
  const pair = pairOfAgent(agent, owner.pubkey)
  let n = 0
  const engram = () => seal(pair, agent, memory(`mem/${++n}`, 'x'))
  const withTag = tag => ({ ...agent, sign: template => agent.sign({ ...template, tags: [...template.tags, tag] }) })
  const vouched = await connect(stage.url, withTag(attest(owner, agent.pubkey, 'kind=30174')))
  assert.equal(await vouched.publish(engram()), '')
  await refused(vouched.publish(agent.sign({ kind: 1 })), 'restricted: ')
  await refused((await connect(stage.url, agent)).publish(engram()), 'restricted: ')
  await refused((await connect(stage.url, withTag(attest(owner, other.pubkey)))).publish(engram()), 'restricted: ')

  const post = tag => call(stage, agent, 'POST', '/events', engram(), { headers: { 'x-auth-tag': JSON.stringify(tag) } })
  assert.equal((await post(attest(owner, agent.pubkey))).status, 200)
  for (const tag of [attest(owner, other.pubkey), attest(other, agent.pubkey), attest(owner, agent.pubkey, `created_at<${now() - 60}`), 'no tag']) {
    const { status, body } = await post(tag)
    assert.equal(status, 403)
    assert.match(body.error, /^restricted: .*does not count: /)
  }
})
