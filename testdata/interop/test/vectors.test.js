// What this side computes is what the NIP says, before it is held against ours.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as nip44 from 'nostr-tools/nip44'
import { verifyEvent } from 'nostr-tools/pure'
import { address, conversationKey, head, open, pairOfAgent, pairOfOwner } from '../lib/engram.js'
import { bytes, someone } from '../lib/keys.js'

const vectors = JSON.parse(readFileSync(new URL('../../vectors/nip-ae.json', import.meta.url)))
const agent = someone(bytes(vectors.inputs.seckey_a))
const owner = someone(bytes(vectors.inputs.seckey_o))
const pair = pairOfAgent(agent, owner.pubkey)

test('keys', () => {
  assert.equal(agent.pubkey, vectors.derived.pubkey_a)
  assert.equal(owner.pubkey, vectors.derived.pubkey_o)
  assert.equal(conversationKey(pair), vectors.derived.conversation_key)
  assert.equal(conversationKey(pairOfOwner(owner, agent.pubkey)), vectors.derived.conversation_key)
})

for (const [slug, d] of Object.entries(vectors.d_tags)) {
  test(`address of ${slug}`, () => assert.equal(address(pair, slug), d))
}

for (const vector of vectors.events) {
  test(`event ${vector.id.slice(0, 8)}: ${vector.slug}`, () => {
    const event = {
      id: vector.id, pubkey: agent.pubkey, created_at: vector.created_at, kind: 30174,
      tags: [['d', vector.d], ['p', owner.pubkey]], sig: vector.sig,
      content: vector.content ?? nip44.encrypt(vector.body, pair.key, bytes(vector.nip44_nonce)),
    }
    assert.equal(event.content, nip44.encrypt(vector.body, pair.key, bytes(vector.nip44_nonce)))
    assert.ok(verifyEvent(event))
    assert.deepEqual(open(pair, event), JSON.parse(vector.body))
  })
}

test('head', () => {
  const events = vectors.events.filter(e => e.slug === vectors.events[0].slug)
  const newest = events.map(e => e.created_at).sort((a, b) => b - a)[0]
  assert.equal(head(events).created_at, newest)
  const [low, high] = [{ id: 'a', created_at: 7 }, { id: 'b', created_at: 7 }]
  assert.equal(head([high, low]), low)
})
