// What follows a page of a relay's answer, as internal/client/pager.go decides it.
/** @typedef {import('./event.mjs').NostrEvent} NostrEvent */
/** @typedef {import('./relay.mjs').Filter} Filter */

const PAGE = 500; // events
const BEHIND = 15 * 60; // seconds: how slow an author's clock is reckoned to be

/**
 * Pages go back by until. A page with something new is followed by one that starts at
 * its oldest second; one with nothing new ends that second, and if it is as large as
 * the largest, a cap may hide the rest of the second for good: then the answer is cut.
 */
export class Pager {
  /** @type {Map<string, NostrEvent>} */ found = new Map();
  done = false;
  /** @type {string | undefined} */ cut = undefined; // why the relay may have more than it gave
  /** @type {number | undefined} */ #until = undefined;
  /** @type {number | undefined} */ #since = undefined;
  #largest = 0;
  #pages = 0;

  /** @param {Filter} filter @param {number} most events @param {boolean} chosen whether more than these are not wanted @param {number} began Unix seconds */
  constructor(filter, most, chosen, began) {
    this.filter = filter;
    this.most = most;
    this.chosen = chosen;
    this.began = began;
    this.#until = filter.until;
    this.#since = filter.since;
  }

  /** @returns {Filter & {limit: number}} */
  next() {
    const since = this.#since === undefined ? {} : { since: this.#since };
    const until = this.#until === undefined ? {} : { until: this.#until };
    return { ...this.filter, ...since, ...until, limit: Math.max(1, Math.min(PAGE, this.most - this.found.size)) };
  }

  /**
   * @param {NostrEvent[]} events of the page @param {unknown} hint of NIP-67
   * @returns {NostrEvent[]} what is new among them
   */
  turn(events, hint) {
    const ids = new Set(), fresh = [];
    let oldest = Infinity, newest = 0;
    for (const event of events) {
      ids.add(event.id);
      oldest = Math.min(oldest, event.created_at);
      newest = Math.max(newest, event.created_at);
      if (this.found.has(event.id)) continue;
      this.found.set(event.id, event);
      fresh.push(event);
    }
    const largest = this.#largest = Math.max(this.#largest, ids.size);
    if (fresh.length) this.#pages++;
    if (hint === 'finish') this.done = true;
    else if (ids.size === 0) this.#end(hint === 'more');
    else if (ids.size === 1 && hint !== 'more' && oneAddress(this.filter)) this.done = true;
    else if (this.found.size >= this.most) {
      this.done = true;
      this.cut ??= this.chosen ? 'asked-for-no-more' : 'too-many';
    } else if (fresh.length || oldest < newest) this.#until = oldest;
    else {
      if (hint === 'more' || ids.size > 1 && ids.size >= largest) this.cut ??= 'no-progress';
      this.#until = oldest - 1;
      this.done = oldest === 0;
    }
    if (this.#until !== undefined && this.#since !== undefined && this.#until < this.#since) this.done = true;
    if (this.done && !this.cut) this.#meanwhile();
    return fresh;
  }

  /** @param {boolean} more */
  #end(more) {
    this.done = true;
    if (more) this.cut ??= 'no-progress';
  }

  /**
   * What was replaced between two pages is in neither: its old version had gone before
   * its page was asked for, its new one is newer than the pages after it. So what was
   * written since is asked for once more.
   */
  #meanwhile() {
    const since = Math.max(this.began - BEHIND, this.filter.since ?? 0);
    const again = this.#since !== this.filter.since;
    if (again || this.#pages < 2 || this.chosen || this.filter.kinds && !this.filter.kinds.some(replaceable) || this.filter.until !== undefined && this.filter.until < since) return;
    this.#since = since;
    this.#until = this.filter.until;
    this.done = false;
  }
}

/** Whether a newer event takes the place of another (NIP-01). @param {number} kind */
const replaceable = (kind) => kind === 0 || kind === 3 || kind >= 10_000 && kind < 20_000 || kind >= 30_000 && kind < 40_000;

/** Whether a relay keeps one event of these, and one that kept more would show them. @param {Filter} filter */
const oneAddress = ({ kinds, authors, '#d': d }) => kinds?.length === 1 && kinds[0] >= 30_000 && kinds[0] < 40_000 && authors?.length === 1 && d?.length === 1;
