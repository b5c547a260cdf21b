// Which of several events at one address is in force (NIP-01): the newest, and of
// those of one second that with the lowest id.
/** @typedef {import('../nostr/event.mjs').NostrEvent} NostrEvent */
import { tag } from '../nostr/event.mjs';

/** Orders the one in force first. @param {NostrEvent} a @param {NostrEvent} b */
export const newer = (a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

/** @param {NostrEvent} event of an addressable kind */
export const addressKey = event => `${event.kind}:${event.pubkey}:${tag(event, 'd') ?? ''}`;

/**
 * The event in force at each address.
 * @param {Iterable<NostrEvent>} events @returns {Map<string, NostrEvent>} by addressKey
 */
export function heads(events) {
  /** @type {Map<string, NostrEvent>} */
  const found = new Map();
  for (const event of events) {
    const key = addressKey(event);
    const other = found.get(key);
    if (!other || newer(event, other) < 0) found.set(key, event);
  }
  return found;
}
