// The newest valid event at each address, as several relays show it. Until an event is
// opened nobody knows whether a relay made it up: what is shown beside it waits.
import { addressKey, newer } from '../nipae/head.mjs';
import { unopened } from './entry.mjs';

/** @typedef {import('./entry.mjs').Entry} Entry */
/** @typedef {import('../nostr/event.mjs').NostrEvent} NostrEvent */

// Versions that one relay shows at one address: more than one only while it is written.
// The bound is each relay's own, so that none can push out what another shows.
const EACH = 3;

export class Candidates {
  /** @type {Map<string, Entry[]>} newest first */ #at = new Map();

  get size() { return this.#at.size; }

  /**
   * @param {string} relay @param {NostrEvent} event
   * @returns {Entry | null} the entry if it is new
   */
  take(relay, event) {
    const key = addressKey(event);
    const all = this.#at.get(key) ?? [];
    const there = all.find((e) => same(e.event, event));
    if (there) {
      if (!there.relays.includes(relay)) there.relays.push(relay);
      return null;
    }
    const entry = unopened(event, [relay]);
    all.push(entry);
    all.sort((a, b) => newer(a.event, b.event));
    const its = all.filter((e) => e.relays.includes(relay));
    const least = its.length > EACH ? /** @type {Entry} */ (its.at(-1)) : null;
    if (least) least.relays = least.relays.filter((url) => url !== relay);
    this.#at.set(key, all.filter((e) => e.relays.length > 0));
    return entry.relays.length ? entry : null;
  }

  /** What counts at the address of an event. @param {NostrEvent} event */
  at(event) {
    const all = this.#at.get(addressKey(event));
    return all && counts(all);
  }

  /** What there is at each address, newest first. */
  lists() { return this.#at.values(); }

  /** @returns {Generator<{entry: Entry, passed: number}>} passed: those that could not be read, and are not shown */
  *all() {
    for (const all of this.#at.values()) {
      const entry = counts(all);
      yield { entry, passed: all.reduce((n, e) => n + (e !== entry && e.unreadable !== null ? 1 : 0), 0) };
    }
  }
}

/** @param {Entry[]} all newest first */
const counts = (all) => all.find((e) => e.unreadable === null) ?? all[0];

/**
 * Whether two are one event in all that they say: an id alone is only claimed.
 * @param {NostrEvent} a @param {NostrEvent} b
 */
export const same = (a, b) => a === b || a.id === b.id && a.sig === b.sig && a.content === b.content && a.created_at === b.created_at
  && a.kind === b.kind && a.pubkey === b.pubkey && JSON.stringify(a.tags) === JSON.stringify(b.tags);
