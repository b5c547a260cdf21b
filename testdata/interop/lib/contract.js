// NIP-TEMP by itself: entries and states of an escrow contract, as a party
// writes them on nostr-tools.
import { randomUUID } from 'node:crypto'
import * as nip44 from 'nostr-tools/nip44'

export const ENTRY = 30090
export const STATE = 30091

export const newContract = () => randomUUID()

/** entry is a draft of a shared entry. */
export const entry = (contract, counterparty, type, content, more = {}) => ({
  kind: ENTRY,
  tags: [['d', contract], ['t', type], ['p', counterparty]],
  content: JSON.stringify({ type, content, ...more }),
})

/** state is a draft of a move of the contract. */
export const state = (contract, counterparty, previous, status, more = {}) => ({
  kind: STATE,
  tags: [['d', contract], ['p', counterparty]],
  content: JSON.stringify({
    contract_id: contract, status, previous_status: previous, poster_agent_id: 'poster', worker_agent_id: 'worker',
    amount_sats: 21_000, description: 'translate a page', transition_at: new Date().toISOString(), ...more,
  }),
})

/** sealed encrypts a draft to the counterparty. */
export function sealed(who, draft) {
  const counterparty = draft.tags.find(tag => tag[0] === 'p')[1]
  return { ...draft, content: nip44.encrypt(draft.content, nip44.getConversationKey(who.secret, counterparty)) }
}

/** unseal opens an entry between somebody and the other party. */
export function unseal(who, event) {
  const other = event.pubkey === who.pubkey ? event.tags.find(tag => tag[0] === 'p')[1] : event.pubkey
  return JSON.parse(nip44.decrypt(event.content, nip44.getConversationKey(who.secret, other)))
}
