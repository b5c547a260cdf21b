// Contract memory, plain and encrypted: one party on nostr-tools, the other on
// this module's own packages.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENTRY, STATE, entry, newContract, sealed, state, unseal } from '../lib/contract.js'
import { now, someone } from '../lib/keys.js'
import { ask, connect, count, live, refused } from '../lib/relay.js'
import { start } from '../lib/stage.js'

const stage = await start()

/** deal is a new contract: the poster is on nostr-tools, the worker on ours. */
async function deal() {
  const [poster, worker] = [someone(), someone()]
  return { id: newContract(), poster, worker, relay: await connect(stage.url, poster) }
}

test('an entry of nostr-tools is read by our party, and the reverse', async () => {
  const d = await deal()
  const mine = d.poster.sign(entry(d.id, d.worker.pubkey, 'message', 'Bitte bis morgen – 🦀', { attachments: ['https://files.example/a.pdf'] }))
  await d.relay.publish(mine)
  const theirs = await stage.party(d.worker, ['publish'], entry(d.id, d.poster.pubkey, 'deliverable', 'done\n'))

  const seen = await stage.party(d.worker, ['read'], { kinds: [ENTRY], '#d': [d.id] })
  assert.deepEqual(seen.map(f => f.event.id).sort(), [mine.id, theirs.id].sort())
  const text = JSON.parse(seen.find(f => f.event.id === mine.id).text)
  assert.equal(text.content, 'Bitte bis morgen – 🦀')

  const found = await ask(d.relay, { kinds: [ENTRY], '#d': [d.id], authors: [d.worker.pubkey] })
  assert.deepEqual(found.map(e => e.id), [theirs.id])
  assert.deepEqual(JSON.parse(found[0].content), { type: 'deliverable', content: 'done\n' })
})

test('who knows the contract reads its shared entries; who does not is refused', async () => {
  const d = await deal()
  await d.relay.publish(d.poster.sign(entry(d.id, d.worker.pubkey, 'note', 'seen')))
  const nobody = await connect(stage.url)
  const stranger = await connect(stage.url, someone())
  for (const connection of [nobody, stranger]) {
    assert.equal((await ask(connection, { kinds: [ENTRY], '#d': [d.id], '#t': ['note'] })).length, 1)
    assert.equal(await count(connection, { kinds: [ENTRY], '#d': [d.id] }), 1)
    assert.deepEqual(await ask(connection, { kinds: [ENTRY], '#d': [newContract()] }), [])
  }
  for (const filter of [{ kinds: [ENTRY] }, { kinds: [ENTRY], authors: [d.poster.pubkey] }, { kinds: [STATE], '#p': [d.worker.pubkey] }]) {
    await refused(ask(nobody, filter), 'auth-required: ')
    await refused(ask(stranger, filter), 'restricted: ')
    await refused(count(stranger, filter), 'restricted: ')
  }
})

test('an encrypted entry passes between both sides and shows itself to nobody else', async () => {
  const d = await deal()
  const secret = entry(d.id, d.worker.pubkey, 'message', 'the key is under the mat')
  const mine = d.poster.sign(sealed(d.poster, secret))
  await d.relay.publish(mine)
  const [seen] = await stage.party(d.worker, ['read'], { kinds: [ENTRY], '#p': [d.worker.pubkey] })
  assert.equal(seen.sealed, true)
  assert.equal(seen.text, secret.content)

  const answer = entry(d.id, d.poster.pubkey, 'message', 'found it')
  const theirs = await stage.party(d.worker, ['publish'], { ...answer, seal_to: d.poster.pubkey })
  const [found] = await ask(d.relay, { kinds: [ENTRY], '#p': [d.poster.pubkey] })
  assert.equal(found.id, theirs.id)
  assert.ok(!found.content.includes('found'))
  assert.deepEqual(unseal(d.poster, found), { type: 'message', content: 'found it' })

  // The contract's name opens the shared entries, not these.
  for (const who of [undefined, someone()]) {
    const connection = await connect(stage.url, who)
    assert.deepEqual(await ask(connection, { kinds: [ENTRY], '#d': [d.id] }), [])
    assert.equal(await count(connection, { kinds: [ENTRY], '#d': [d.id] }), 0)
  }
})

test('a party that listens gets entries of both kinds at once, a stranger the plain ones', async () => {
  const d = await deal()
  const mine = await live(d.relay, { kinds: [ENTRY], '#p': [d.poster.pubkey] })
  const theirs = await live(await connect(stage.url), { kinds: [ENTRY], '#d': [d.id] })
  const first = await stage.party(d.worker, ['publish'], { ...entry(d.id, d.poster.pubkey, 'message', 'for you'), seal_to: d.poster.pubkey, created_at: now() - 5 })
  const second = await stage.party(d.worker, ['publish'], entry(d.id, d.poster.pubkey, 'message', 'for all'))
  assert.equal((await mine.next()).id, first.id)
  assert.equal((await mine.next()).id, second.id)
  assert.equal((await theirs.next()).id, second.id)
})

test('both sides move one contract to its end', async () => {
  const d = await deal()
  const at = now() - 100
  const move = (who, to, from, status, second) => ({ ...state(d.id, to.pubkey, from, status), created_at: at + second, who })
  const post = ({ who, ...draft }) => d.relay.publish(who.sign(draft))
  const ours = ({ who, ...draft }) => stage.party(who, ['publish'], draft)

  await post(move(d.poster, d.worker, '', 'open', 0))
  await ours(move(d.worker, d.poster, 'open', 'accepted', 1))
  await ours({ ...entry(d.id, d.poster.pubkey, 'deliverable', 'here'), who: d.worker, created_at: at + 2 })
  await ours(move(d.worker, d.poster, 'accepted', 'submitted', 3))
  await assert.rejects(ours(move(d.worker, d.poster, 'submitted', 'completed', 4)), /invalid: /) // the poster's to say
  await refused(post(move(d.poster, d.worker, 'accepted', 'completed', 4)), 'invalid: ')
  await post(move(d.poster, d.worker, 'submitted', 'completed', 5))
  await refused(d.relay.publish(d.poster.sign(entry(d.id, d.worker.pubkey, 'message', 'too late'))), 'blocked: ')
  await assert.rejects(stage.party(d.worker, ['publish'], entry(d.id, d.poster.pubkey, 'message', 'too late')), /blocked: /)

  const states = await ask(d.relay, { kinds: [STATE], '#d': [d.id] })
  assert.deepEqual(states.map(e => JSON.parse(e.content).status).sort(), ['completed', 'submitted']) // one head per author
  const read = await stage.party(d.worker, ['read'], { kinds: [STATE, ENTRY], '#d': [d.id] })
  assert.equal(read.length, 3)
})

test('what does not belong on a relay is refused', async () => {
  const d = await deal()
  const good = entry(d.id, d.worker.pubkey, 'note', 'x')
  const wrong = {
    'poster only': entry(d.id, d.worker.pubkey, 'note', 'x', { visibility: 'poster_only' }),
    'worker only': entry(d.id, d.worker.pubkey, 'note', 'x', { visibility: 'worker_only' }),
    'another type': { ...good, tags: good.tags.map(tag => (tag[0] === 't' ? ['t', 'gossip'] : tag)) },
    'no counterparty': { ...good, tags: good.tags.filter(tag => tag[0] !== 'p') },
    'duplicate member': { ...good, content: '{"type":"note","type":"note","content":"x"}' },
    'no JSON': { ...good, content: 'x' },
  }
  for (const [name, draft] of Object.entries(wrong)) {
    await assert.rejects(d.relay.publish(d.poster.sign(draft)), /^Error: invalid: /, name)
  }
  assert.equal(await count(d.relay, { kinds: [ENTRY], '#d': [d.id] }), 0)
})
