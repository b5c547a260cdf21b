// One relay over one websocket (NIP-01, NIP-42, NIP-45, NIP-67). Its answers say how
// whole they are: complete, cut (the relay has more than it gives), or failed.
import { Connection, RelayError } from './connection.mjs';
import { parseEvent } from './event.mjs';
import { Pager } from './paging.mjs';

export { RelayError };

/** @typedef {import('./event.mjs').NostrEvent} NostrEvent */
/** @typedef {import('./event.mjs').Template} Template */
/** @typedef {{ids?: string[], kinds?: number[], authors?: string[], since?: number, until?: number, limit?: number, [tag: `#${string}`]: string[]}} Filter */
/**
 * @typedef {object} Answer
 * @property {string} relay
 * @property {NostrEvent[]} events each once, not verified
 * @property {'complete' | 'cut' | 'failed'} state
 * @property {string} [reason] why not complete: a word of words-reasons.mjs
 * @property {number} unreadable frames and events that are none, or were not asked for
 */
/**
 * @typedef {object} Asking
 * @property {AbortSignal} [signal]
 * @property {(events: NostrEvent[]) => void} [onEvents]
 * @property {number} [most] events, newest first, of which there may be more
 */

const MOST = 50_000; // events of one answer
const MOST_BYTES = 192 << 20; // characters of one answer's frames
const SLICE = 50, SLICE_TIME = 16; // events, ms
const AT_ONCE = 16; // questions: relays bound the subscriptions of a connection

export class Relay {
  #number = 0;
  #asking = 0;
  /** @type {(() => void)[]} */ #queue = [];

  /** @param {string} url @param {{sign: (template: Template) => Promise<NostrEvent>} & Partial<import('./connection.mjs').Options> & {bytes?: number}} options */
  constructor(url, options) {
    this.url = url;
    this.o = { WebSocket: globalThis.WebSocket, silence: 10_000, now: () => Math.floor(Date.now() / 1000), bytes: MOST_BYTES, ...options };
    this.connection = new Connection(url, this.o);
  }

  close() {
    this.connection.close();
  }

  /** One of few questions at a time. @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  async #inTurn(work) {
    if (this.#asking >= AT_ONCE) await new Promise((go) => this.#queue.push(() => go(null)));
    else this.#asking++;
    try {
      return await work();
    } finally {
      const next = this.#queue.shift();
      if (next) next();
      else this.#asking--;
    }
  }

  /**
   * Does what needs the connection, and once more when the relay wants the proof anew.
   * @template T @param {() => Promise<T>} work @returns {Promise<T>}
   */
  async #proved(work) {
    await this.connection.open();
    try {
      return await work();
    } catch (error) {
      if (/** @type {{word?: string}} */ (error).word !== 'not-authenticated') throw error;
      await this.connection.prove();
      return work();
    }
  }

  /**
   * All events that fit a filter, page after page.
   * @param {Filter} filter @param {Asking} [o]
   * @returns {Promise<Answer>}
   */
  query(filter, o = {}) {
    return this.#inTurn(() => ended(this.#query(filter, o), o.signal));
  }

  /** @param {Filter} filter @param {Asking} o @returns {Promise<Answer>} */
  async #query(filter, { signal, onEvents, most }) {
    const pager = new Pager(filter, most ?? MOST, most !== undefined, this.o.now());
    let unreadable = 0, size = 0;
    /** @type {(state: Answer['state'], reason?: string) => Answer} */
    const answer = (state, reason) => ({ relay: this.url, events: [...pager.found.values()], state, reason, unreadable });
    try {
      while (!pager.done) {
        signal?.throwIfAborted();
        const page = await this.#proved(() => this.#page(pager.next(), this.o.bytes - size, signal));
        unreadable += page.unreadable;
        size += page.size;
        const fresh = pager.turn(page.events, page.hint);
        if (onEvents) await inSlices(fresh, onEvents, signal);
        if (page.full) return answer('cut', 'too-large');
      }
      return pager.cut ? answer('cut', pager.cut) : answer('complete');
    } catch (error) {
      if (signal?.aborted) throw error;
      return answer('failed', wordOf(error));
    }
  }

  /**
   * @param {Filter & {limit: number}} filter @param {number} most characters @param {AbortSignal} [signal]
   * @returns {Promise<{events: NostrEvent[], unreadable: number, hint: unknown, size: number, full: boolean}>}
   */
  #page(filter, most, signal) {
    const { connection } = this;
    const sub = `q${++this.#number}`;
    /** @type {NostrEvent[]} */
    const events = [];
    const before = connection.garbage;
    let seen = 0, unreadable = 0, size = 0;
    return new Promise((resolve, reject) => {
      /** @type {ReturnType<typeof setTimeout> | undefined} */
      let clock;
      const wait = () => {
        clearTimeout(clock);
        const { heard } = connection;
        clock = setTimeout(() => end(connection.silent(heard)), this.o.silence);
      };
      const end = (/** @type {unknown} */ error, /** @type {unknown} */ hint = undefined, full = false) => {
        clearTimeout(clock);
        signal?.removeEventListener('abort', stop);
        connection.off(sub);
        try {
          connection.send(['CLOSE', sub]);
        } catch { /* there is nothing left to close */ }
        if (error) reject(error);
        else resolve({ events, unreadable: unreadable + connection.garbage - before, hint, size, full });
      };
      const stop = () => end(signal?.reason);
      signal?.addEventListener('abort', stop, { once: true });
      connection.on(sub, (frame, length) => {
        if (frame instanceof RelayError) return end(frame);
        size += length;
        if (frame[0] === 'EVENT') {
          wait();
          const event = parseEvent(frame[2]);
          if (!event || !fits(event, filter)) unreadable++;
          else events.push(event);
          if (++seen > 2 * filter.limit + 1000) end(new RelayError('floods', this.url));
          else if (size > most) end(null, undefined, true);
        } else if (frame[0] === 'EOSE') {
          end(null, hinted(frame[2]));
        } else if (frame[0] === 'CLOSED') {
          end(new RelayError(refusal(frame[2]), this.url));
        }
      });
      wait();
      try {
        connection.send(['REQ', sub, filter]);
      } catch (error) {
        end(error);
      }
    });
  }

  /**
   * How many events fit a filter, as the relay says (NIP-45).
   * @param {Filter} filter
   * @returns {Promise<{count: number, approximate: boolean} | {failed: string}>}
   */
  count(filter) {
    return this.#inTurn(async () => {
      try {
        return await this.#proved(async () => {
          const sub = `c${++this.#number}`;
          const [type, , said] = await this.connection.ask(sub, ['COUNT', sub, filter]);
          if (type === 'CLOSED') throw new RelayError(refusal(said), this.url);
          const { count, approximate } = /** @type {{count?: unknown, approximate?: unknown}} */ (said ?? {});
          if (type !== 'COUNT' || typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) throw new RelayError('no-count', this.url);
          return { count, approximate: approximate === true };
        });
      } catch (error) {
        return { failed: wordOf(error) };
      }
    });
  }

  /**
   * @param {NostrEvent} event
   * @returns {Promise<{relay: string, ok: boolean, word?: string, message: string}>}
   */
  async publish(event) {
    let message = '';
    try {
      await this.#proved(async () => {
        const [, , ok, text] = await this.connection.ask(`OK ${event.id}`, ['EVENT', event]);
        message = typeof text === 'string' ? text.slice(0, 300) : '';
        if (ok !== true && !message.startsWith('duplicate:')) throw new RelayError(refusal(message, 'refused'), this.url);
      });
      return { relay: this.url, ok: true, message };
    } catch (error) {
      return { relay: this.url, ok: false, word: wordOf(error), message };
    }
  }
}

/** What an EOSE says of what is left (NIP-67): its hints are a list. @param {unknown} hints */
const hinted = (hints) => (Array.isArray(hints) ? ['more', 'finish'].find((hint) => hints.includes(hint)) : undefined);

/** @param {unknown} error @returns {string} */
const wordOf = (error) => String(/** @type {{word?: string}} */ (error)?.word ?? 'failed');

/** The same, but given up when the signal says so: a signer may be waited for. @template T @param {Promise<T>} work @param {AbortSignal} [signal] @returns {Promise<T>} */
function ended(work, signal) {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** @type {Record<string, string>} */
const prefixes = { 'auth-required': 'not-authenticated', restricted: 'refused', blocked: 'refused', invalid: 'refused', 'rate-limited': 'rate-limited' };

/** @param {unknown} message of CLOSED or OK @param {string} [otherwise] */
function refusal(message, otherwise = 'closed') {
  const prefix = typeof message === 'string' ? /^([a-z-]{1,40}):/.exec(message)?.[1] : undefined;
  return prefix !== undefined && Object.hasOwn(prefixes, prefix) ? prefixes[prefix] : otherwise;
}

/**
 * Tells of a page's events part by part: who is told may take long, and somebody may be
 * scrolling.
 * @param {NostrEvent[]} events @param {(events: NostrEvent[]) => void} tell @param {AbortSignal} [signal]
 */
async function inSlices(events, tell, signal) {
  for (let i = 0, began = performance.now(); i < events.length; i += SLICE) {
    if (performance.now() - began > SLICE_TIME) {
      await new Promise((done) => setTimeout(done));
      signal?.throwIfAborted();
      began = performance.now();
    }
    tell(events.slice(i, i + SLICE));
  }
}

/** Whether an event is what was asked for. @param {NostrEvent} event @param {Filter} filter */
export function fits(event, filter) {
  if (filter.ids && !filter.ids.includes(event.id) || filter.kinds && !filter.kinds.includes(event.kind)) return false;
  if (filter.authors && !filter.authors.includes(event.pubkey)) return false;
  if (filter.since !== undefined && event.created_at < filter.since || filter.until !== undefined && event.created_at > filter.until) return false;
  for (const [name, values] of Object.entries(filter)) {
    if (name[0] === '#' && !event.tags.some((t) => t[0] === name.slice(1) && /** @type {string[]} */ (values).includes(t[1]))) return false;
  }
  return true;
}
