// Nobody but the parties learns that an engram is there.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as nip42 from 'nostr-tools/nip42'
import * as nip44 from 'nostr-tools/nip44'
import WebSocket from 'ws'
import { KIND, filterOf, memory, pairOfAgent, seal } from '../lib/engram.js'
import { now, someone } from '../lib/keys.js'
import { ask, connect, count, live, refused } from '../lib/relay.js'
import { start } from '../lib/stage.js'

const stage = await start()
const [agent, owner, stranger, sibling] = [someone(), someone(), someone(), someone()]
const pair = pairOfAgent(agent, owner.pubkey)
const relay = await connect(stage.url, agent)
const engram = seal(pair, agent, memory('mem/secret', 'the code is 4711'))
await relay.publish(engram)
await (await connect(stage.url, sibling)).publish(seal(pairOfAgent(sibling, owner.pubkey), sibling, memory('mem/other', 'x')))

/** Every way to ask for what is another's. */
const questions = {
  'by kind': { kinds: [KIND] },
  'by author': { kinds: [KIND], authors: [agent.pubkey] },
  'by owner': { kinds: [KIND], '#p': [owner.pubkey] },
  'by pair': filterOf(pair),
  'by address': filterOf(pair, 'mem/secret'),
  'by d alone': { kinds: [KIND], '#d': [engram.tags[0][1]] },
  'without kinds': { authors: [agent.pubkey] },
  'among others': { kinds: [1, KIND], authors: [agent.pubkey] },
  'searching': { kinds: [KIND], search: 'code' },
}

for (const [name, filter] of Object.entries(questions)) {
  test(`nobody and a stranger are refused: ${name}`, async () => {
    for (const [who, prefix] of [[undefined, 'auth-required: '], [stranger, 'restricted: ']]) {
      const connection = await connect(stage.url, who)
      await refused(ask(connection, filter), prefix)
      await refused(count(connection, filter), prefix)
      await refused(live(connection, { ...filter, limit: 0 }), prefix)
    }
  })
}

test('one refused filter refuses the request', async () => {
  const connection = await connect(stage.url, stranger)
  await refused(ask(connection, { kinds: [1] }, filterOf(pair)), 'restricted: ')
  await refused(ask(connection, { kinds: [KIND], authors: [stranger.pubkey, agent.pubkey] }), 'restricted: ')
})

test('a stranger asks for what is his own and finds nothing', async () => {
  const connection = await connect(stage.url, stranger)
  assert.deepEqual(await ask(connection, { kinds: [KIND], authors: [stranger.pubkey] }), [])
  assert.deepEqual(await ask(connection, { kinds: [KIND], '#p': [stranger.pubkey] }), [])
  assert.equal(await count(connection, { kinds: [KIND], '#p': [stranger.pubkey] }), 0)
})

test('agent and owner find and count the same', async () => {
  const asOwner = await connect(stage.url, owner)
  for (const connection of [relay, asOwner]) {
    assert.deepEqual((await ask(connection, filterOf(pair))).map(e => e.id), [engram.id])
    assert.equal(await count(connection, filterOf(pair)), 1)
  }
  assert.equal(await count(asOwner, { kinds: [KIND], '#p': [owner.pubkey] }), 2)
  await refused(ask(relay, { kinds: [KIND], '#p': [owner.pubkey] }), 'restricted: ') // the sibling's too
})

test('the full id is a key to the ciphertext, and to nothing else', async () => {
  const connection = await connect(stage.url)
  const [event] = await ask(connection, { ids: [engram.id] })
  assert.equal(event.id, engram.id)
  assert.throws(() => nip44.decrypt(event.content, nip44.getConversationKey(stranger.secret, agent.pubkey)))
})

test('live events go to the parties only', async () => {
  const asStranger = await connect(stage.url, stranger)
  const asOwner = await connect(stage.url, owner)
  const theirs = await live(asStranger, { kinds: [KIND], authors: [stranger.pubkey] }, { kinds: [1] })
  const ours = await live(asOwner, { kinds: [KIND], '#p': [owner.pubkey], since: now() + 1 })
  const event = seal(pair, agent, memory('mem/live', 'x'), { created_at: now() + 2 })
  await relay.publish(event)
  assert.equal((await ours.next()).id, event.id)
  const note = stranger.sign({ kind: 1, content: 'after it' })
  await relay.publish(note)
  assert.equal((await theirs.next()).id, note.id)
})

test('the AUTH of another relay, challenge or time is refused', async () => {
  const good = challenge => nip42.makeAuthEvent(stage.url, challenge)
  const bad = {
    'another relay': challenge => nip42.makeAuthEvent('wss://relay.example/', challenge),
    'another challenge': () => good('0'.repeat(32)),
    'long ago': challenge => ({ ...good(challenge), created_at: now() - 3600 }),
    'another kind': challenge => ({ ...good(challenge), kind: 1 }),
  }
  const socket = new WebSocket(stage.url)
  const frames = frameQueue(socket)
  const [label, challenge] = await frames()
  assert.equal(label, 'AUTH')
  for (const [name, make] of Object.entries(bad)) {
    const event = agent.sign(make(challenge))
    socket.send(JSON.stringify(['AUTH', event]))
    const [ok, id, accepted, message] = await frames()
    assert.deepEqual([ok, id, accepted], ['OK', event.id, false], name)
    assert.match(message, /^invalid: /, name)
  }
  socket.send(JSON.stringify(['REQ', 'q', filterOf(pair)]))
  assert.deepEqual(await frames(), ['AUTH', challenge])
  assert.match((await frames())[2], /^auth-required: /)
  socket.send(JSON.stringify(['AUTH', agent.sign(good(challenge))]))
  assert.equal((await frames())[2], true)
  socket.send(JSON.stringify(['REQ', 'q', { ...filterOf(pair), limit: 1 }]))
  assert.equal((await frames())[0], 'EVENT')
  socket.close()
})

test('engramctl of a stranger gets nothing, whichever pair it claims', async () => {
  for (const claimed of [{ agent: agent.pubkey, owner: stranger.pubkey }, { agent: stranger.pubkey, owner: owner.pubkey }]) {
    for (const args of [['mem', 'get', 'secret'], ['mem', 'log', 'secret'], ['mem', 'get', 'core']]) {
      const out = await stage.as(stranger, claimed)(args)
      assert.equal(out.code, 1, out.stderr)
      assert.equal(out.stdout, '')
    }
  }
})

/** frameQueue gives the frames of a socket one by one. */
function frameQueue(socket) {
  const frames = []
  const waiting = []
  socket.on('message', data => {
    const frame = JSON.parse(data)
    waiting.length ? waiting.shift()(frame) : frames.push(frame)
  })
  return () => (frames.length ? Promise.resolve(frames.shift()) : new Promise(resolve => waiting.push(resolve)))
}
