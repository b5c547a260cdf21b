// What each relay has of an agent's memory, and what it lacks that another shows.
import { addressKey } from '../nipae/head.mjs';
import { envelopeFault } from '../nipae/open.mjs';
import { same } from './candidates.mjs';
import { Verifying, inForce } from './heads.mjs';

/** @typedef {import('./pool.mjs').Owner} Owner */
/** @typedef {import('../nostr/event.mjs').NostrEvent} NostrEvent */
/** @typedef {{relay: string, state: 'complete' | 'cut' | 'failed', reason?: string, has: number, lacks: number, newest: number | null}} RelayRow */

/**
 * @param {Owner} owner @param {string} agent @param {{signal?: AbortSignal}} o
 * @returns {Promise<RelayRow[]>}
 */
export async function relaysOf(owner, agent, { signal }) {
  const answers = await Promise.all(owner.relays.map((r) => r.query({ kinds: [30174], authors: [agent], '#p': [owner.pubkey] }, { signal })));
  const verifying = new Verifying();
  // What all show is theirs to vouch for; what some lack may be made up by the others.
  /** @type {Map<string, NostrEvent[]>} */
  const shown = new Map();
  for (const { events } of answers) for (const event of events) shown.set(event.id, [...shown.get(event.id) ?? [], event]);
  const byAll = (/** @type {NostrEvent} */ event) => shown.get(event.id)?.length === answers.length && shown.get(event.id)?.every((e) => same(e, event));
  /** @type {NostrEvent[][]} */
  const valid = [];
  for (const { events } of answers) {
    const good = [];
    for (const event of events) {
      signal?.throwIfAborted();
      if (envelopeFault(event, agent, owner.pubkey)) continue;
      if (byAll(event) || await verifying.good(event)) good.push(event);
    }
    valid.push(good);
  }
  const all = new Map((await inForce(valid, verifying)).map((e) => [addressKey(e), e.id]));
  return answers.map(({ relay, state, reason }, i) => {
    const has = new Set(valid[i].filter((e) => all.get(addressKey(e)) === e.id).map((e) => e.id)).size;
    return { relay, state, reason, has, lacks: all.size - has, newest: valid[i].reduce((most, e) => Math.max(most, e.created_at), 0) || null };
  });
}
