// What a relay answers over HTTP to signed requests (NIP-98). It is the relay's own URL
// with http for ws, and nothing else.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { base64 } from '@scure/base';
import { RelayError } from './connection.mjs';
import { parseEvent } from './event.mjs';

/** @typedef {import('./event.mjs').NostrEvent} NostrEvent */
/** @typedef {import('./event.mjs').Template} Template */

const MOST = 64 << 20; // bytes of one answer
const MOST_PAGED = 192 << 20; // characters of all pages of one answer
const MOST_EVENTS = 20_000;
const PAGE = 500; // what a relay gives that is asked for no number

/** @param {string} relay @param {string} path with its query */
export function endpoint(relay, path) {
  const url = new URL(relay);
  return `http${url.protocol === 'wss:' ? 's' : ''}://${url.host}${url.pathname.replace(/\/$/, '')}${path}`;
}

export class Http {
  #skew = 0; // seconds that the relay's clock is ahead of ours

  /** @param {string} relay @param {(template: Template) => Promise<NostrEvent>} sign @param {{closed?: AbortSignal, silence?: number}} [o] silence: ms without a byte */
  constructor(relay, sign, { closed, silence = 10_000 } = {}) {
    this.relay = relay;
    this.sign = sign;
    this.closed = closed;
    this.silence = silence;
  }

  /**
   * A signed GET. A 401 that tells another time is asked once more with it.
   * @param {string} path @param {AbortSignal} [signal]
   * @returns {Promise<{json: unknown, truncated: boolean, size: number}>}
   */
  async get(path, signal) {
    const url = endpoint(this.relay, path);
    let got = await this.#once(url, signal);
    if (got.status === 401) {
      const theirs = relayTime(got.text);
      if (theirs === null) throw new RelayError('not-authenticated', this.relay);
      this.#skew = theirs - Math.floor(Date.now() / 1000);
      got = await this.#once(url, signal);
    }
    if (!got.ok) throw new RelayError(words.get(got.status) ?? 'failed', this.relay);
    try {
      return { json: JSON.parse(got.text), truncated: got.truncated, size: got.text.length };
    } catch {
      throw new RelayError('unreadable-answer', this.relay);
    }
  }

  /** @param {string} url @param {AbortSignal} [signal] */
  async #once(url, signal) {
    const proof = await this.sign({
      kind: 27235, created_at: Math.floor(Date.now() / 1000) + this.#skew, content: '', tags: [['u', url], ['method', 'GET']],
    });
    const headers = { Authorization: `Nostr ${base64.encode(utf8ToBytes(JSON.stringify(proof)))}` };
    return fetched(url, { headers, relay: this.relay, silence: this.silence, most: MOST, signals: [signal, this.closed] });
  }

  /**
   * The superseded versions of one address or of a whole kind, newest first.
   * @param {{kind: number, author: string, d?: string}} of @param {AbortSignal} [signal]
   * @returns {Promise<{events: NostrEvent[], state: 'complete' | 'cut', reason?: string, unreadable: number}>}
   */
  async history({ kind, author, d }, signal) {
    /** @type {Map<string, NostrEvent>} */
    const found = new Map();
    let unreadable = 0, until = '', all = 0;
    const answer = (/** @type {string} */ reason = '') => ({
      events: [...found.values()], state: /** @type {'complete' | 'cut'} */ (reason ? 'cut' : 'complete'), ...(reason && { reason }), unreadable,
    });
    for (;;) {
      const query = new URLSearchParams({ kind: String(kind), author, ...(d === undefined ? {} : { d }), ...(until && { until }) });
      const { json, truncated, size } = await this.get(`/history?${query}`, signal);
      if (!Array.isArray(json)) throw new RelayError('unreadable-answer', this.relay);
      all += size;
      let fresh = 0, oldest = Infinity;
      for (const value of json) {
        const event = parseEvent(value);
        if (!event || event.kind !== kind || event.pubkey !== author || until && event.created_at > Number(until)) {
          unreadable++;
          continue;
        }
        oldest = Math.min(oldest, event.created_at);
        if (found.has(event.id)) continue;
        if (found.size >= MOST_EVENTS) return answer('too-many');
        fresh++;
        found.set(event.id, event);
      }
      // The header that says "there is more" may be a trailer, which browsers hide: a page
      // that brings nothing new ends it.
      if (!fresh) return answer(json.length && (truncated || json.length >= PAGE) ? 'no-progress' : '');
      if (all > MOST_PAGED) return answer('too-large');
      until = String(oldest);
    }
  }
}

const words = new Map([[401, 'not-authenticated'], [403, 'refused'], [404, 'not-there'], [405, 'not-there'], [410, 'not-there'], [413, 'too-large'], [429, 'rate-limited'], [501, 'not-there'], [503, 'unready']]);

/** The relay's time in the text of a 401, Unix seconds; null if it tells none. @param {string} text */
export function relayTime(text) {
  const at = /\b(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d))/.exec(text)?.[1];
  if (at) return Math.floor(Date.parse(at) / 1000) || null;
  const seconds = /\b(1[6-9]\d{8}|[2-9]\d{9})\b/.exec(text)?.[1];
  return seconds ? Number(seconds) : null;
}

/**
 * A whole answer, unless nothing comes for too long, or too much.
 * @param {string} url
 * @param {{headers: Record<string, string>, relay: string, silence: number, most: number, signals: (AbortSignal | undefined)[]}} o
 */
async function fetched(url, { headers, relay, silence, most, signals }) {
  if (url.startsWith('http:') && globalThis.location?.protocol === 'https:') throw new RelayError('no-tls', relay);
  const quiet = new AbortController();
  let clock = setTimeout(() => quiet.abort(), silence);
  const again = () => {
    clearTimeout(clock);
    clock = setTimeout(() => quiet.abort(), silence);
  };
  let began = false;
  try {
    const signal = AbortSignal.any([quiet.signal, ...signals.filter((s) => s !== undefined)]);
    const response = await fetch(url, { headers, redirect: 'error', credentials: 'omit', referrerPolicy: 'no-referrer', cache: 'no-store', signal });
    began = true;
    const text = await read(response, most, again);
    if (text === null) throw new RelayError('too-large', relay);
    return { ok: response.ok, status: response.status, text, truncated: response.headers.has('Engramd-Truncated') };
  } catch (error) {
    for (const signal of signals) signal?.throwIfAborted();
    if (error instanceof RelayError) throw error;
    throw new RelayError(quiet.signal.aborted ? 'silent' : began ? 'closed' : 'unreachable', relay);
  } finally {
    clearTimeout(clock);
  }
}

/**
 * The text of an answer, null if it is too large.
 * @param {Response} response @param {number} most bytes @param {() => void} again called when something came
 */
async function read(response, most, again) {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '', size = 0;
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    again();
    size += value.length;
    if (size > most) {
      await reader.cancel();
      return null;
    }
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}

/** SHA-256 of a text as the client writes hashes: 64 hex digits. @param {string} text */
export const hashOf = (text) => bytesToHex(sha256(utf8ToBytes(text)));
