// NIP-AE by itself: what an implementer would write on nostr-tools and
// node:crypto, from the text of the NIP alone.
import { createHash, createHmac } from 'node:crypto'
import * as nip44 from 'nostr-tools/nip44'
import { verifyEvent } from 'nostr-tools/pure'
import { hex, now } from './keys.js'

export const KIND = 30174

/** pairOfAgent is the pair as its agent sees it. */
export function pairOfAgent(agent, ownerPubkey) {
  return { agent: agent.pubkey, owner: ownerPubkey, key: nip44.getConversationKey(agent.secret, ownerPubkey) }
}

/** pairOfOwner is the pair as its owner sees it: the same key, from the other side. */
export function pairOfOwner(owner, agentPubkey) {
  return { agent: agentPubkey, owner: owner.pubkey, key: nip44.getConversationKey(owner.secret, agentPubkey) }
}

/** address is the d tag of a slug. */
export function address(pair, slug) {
  return createHmac('sha256', pair.key).update('agent-memory/v1/d-tag').update(Uint8Array.of(0)).update(slug).digest('hex')
}

/** commitment is the tag that commits to the message keys of a payload: HKDF-expand over its nonce, 76 bytes, hashed. */
export function commitment(key, content) {
  const nonce = Buffer.from(content, 'base64').subarray(1, 33)
  const blocks = [Buffer.alloc(0)]
  for (let i = 1; i <= 3; i++) blocks.push(createHmac('sha256', key).update(blocks[i - 1]).update(nonce).update(Uint8Array.of(i)).digest())
  return ['commit', createHash('sha256').update(Buffer.concat(blocks).subarray(0, 76)).digest('hex')]
}

/** core and memory are the bodies; value null is a tombstone, and more members may be added. */
export const core = (profile, more = {}) => ({ slug: 'core', profile, ...more })
export const memory = (slug, value, more = {}) => ({ slug, value, ...more })

/**
 * seal makes a signed engram of a body.
 * @param {{created_at?: number, tags?: string[][], nonce?: Uint8Array}} [o]
 */
export function seal(pair, agent, body, o = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return agent.sign({
    kind: KIND,
    created_at: o.created_at ?? now(),
    tags: [['d', address(pair, JSON.parse(text).slug)], ['p', pair.owner], ...(o.tags ?? [])],
    content: nip44.encrypt(text, pair.key, o.nonce),
  })
}

/** open gives the body of a valid engram of the pair and throws at any other. */
export function open(pair, event) {
  const only = name => {
    const found = event.tags.filter(tag => tag[0] === name)
    if (found.length !== 1) throw new Error(`${found.length} ${name} tags`)
    return found[0][1]
  }
  if (event.kind !== KIND) throw new Error(`kind ${event.kind}`)
  if (event.pubkey !== pair.agent) throw new Error('another author')
  if (only('p') !== pair.owner) throw new Error('another owner')
  if (!verifyEvent(event)) throw new Error('wrong signature')
  const body = JSON.parse(nip44.decrypt(event.content, pair.key))
  if (address(pair, body.slug) !== only('d')) throw new Error('the slug does not give the address')
  const text = body.slug === 'core' ? body.profile : body.value
  if (typeof text !== 'string' && !(text === null && body.slug !== 'core')) throw new Error('the body does not fit its slug')
  return body
}

/** text of a body, null for a tombstone. */
export const text = body => (body.slug === 'core' ? body.profile : body.value)

/** head is the newest, of several the one with the lowest id. */
export function head(events) {
  return [...events].sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1))[0]
}

/** filterOf asks for one slug, or with none for the whole memory of the pair. */
export function filterOf(pair, slug) {
  const filter = { kinds: [KIND], authors: [pair.agent], '#p': [pair.owner] }
  if (slug !== undefined) filter['#d'] = [address(pair, slug)]
  return filter
}

/** conversationKey in hex, for the vectors. */
export const conversationKey = pair => hex(pair.key)
