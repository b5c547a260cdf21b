// Which event is in force at each address, where a relay may have made events up: a
// forged one must not hide what another relay shows.
import { newer } from '../nipae/head.mjs';
import { verify } from '../nostr/event.mjs';
import { Candidates } from './candidates.mjs';

/** @typedef {import('../nostr/event.mjs').NostrEvent} NostrEvent */

const SLICE = 12; // ms: signatures take time, and somebody may be scrolling

/** Whether signatures hold, with room between for others' work. */
export class Verifying {
  /** @type {WeakMap<NostrEvent, boolean>} */ #known = new WeakMap();
  #until = performance.now() + SLICE;

  /** @param {NostrEvent} event */
  async good(event) {
    const known = this.#known.get(event);
    if (known !== undefined) return known;
    if (performance.now() > this.#until) {
      await new Promise((done) => setTimeout(done));
      this.#until = performance.now() + SLICE;
    }
    const good = verify(event);
    this.#known.set(event, good);
    return good;
  }
}

/**
 * The newest at each address. Signatures are checked only where there is a choice: the
 * signer that opens them checks all.
 * @param {NostrEvent[][]} shown by each relay @param {Verifying} [verifying]
 * @returns {Promise<NostrEvent[]>} newest first
 */
export async function inForce(shown, verifying = new Verifying()) {
  const candidates = new Candidates();
  shown.forEach((events, relay) => { for (const event of events) candidates.take(String(relay), event); });
  /** @type {NostrEvent[]} */
  const heads = [];
  for (const [first, ...others] of candidates.lists()) {
    let head = first.event;
    if (others.length) {
      for (const { event } of [first, ...others]) {
        if (!(await verifying.good(event))) continue;
        head = event;
        break;
      }
    }
    heads.push(head);
  }
  return heads.sort(newer);
}
