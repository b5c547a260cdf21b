// What the signed events of a contract say, beside what a relay says of them
// (docs/contracts.md). Order and right to decide are `engramctl contract verify`'s.
import { parseEvent, tag, verify } from './nostr/event.mjs';
import { strictJSON } from './nipae/json.mjs';
import { payloadBytes } from './nipae/open.mjs';

/** @typedef {import('./nostr/event.mjs').NostrEvent} NostrEvent */
/** @typedef {'ok' | 'bad' | 'none'} Signature */

const ENTRY = 30090, STATE = 30091;

/**
 * The event of a row, if it holds and is of this contract, kind and author.
 * @param {unknown} value @param {number} kind @param {string} contract @param {string} author "" if it is not known
 * @returns {NostrEvent | null}
 */
function signed(value, kind, contract, author) {
  const event = parseEvent(value);
  if (!event || event.kind !== kind || author && event.pubkey !== author) return null;
  // Two d tags would let one event stand in two contracts.
  const places = event.tags.filter((t) => t[0] === 'd');
  return places.length === 1 && places[0][1] === contract && verify(event) ? event : null;
}

/** @param {string} content @returns {Record<string, unknown> | null} */
function object(content) {
  const value = strictJSON(content);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? /** @type {Record<string, unknown>} */ (value) : null;
}

/** @param {unknown} value */
const absent = (value) => value === undefined || value === null;

/**
 * Whether an entry is what its author signed: "bad" if the event does not hold, or
 * says something else than the row.
 * @param {{event?: unknown, type?: unknown, content?: unknown, encrypted?: unknown, opened?: unknown, visibility?: unknown}} row
 * @param {string} contract @param {string} author "" if it is not known
 * @returns {{signature: Signature, event: NostrEvent | null, sealed: boolean}}
 */
export function checkEntry(row, contract, author) {
  const claimed = row.encrypted === true;
  if (absent(row.event)) return { signature: 'none', event: null, sealed: claimed };
  const event = signed(row.event, ENTRY, contract, author);
  if (!event) return { signature: 'bad', event: null, sealed: claimed };
  const sealed = payloadBytes(event.content) !== null;
  // What a relay opened for the caller has the text in place of the payload.
  const says = sealed ? row.opened === true || absent(row.content) || row.content === '' ? row.content : event.content : object(event.content)?.content;
  const fits = claimed === sealed && tag(event, 't') === row.type && says === row.content && (sealed || typeof says === 'string') && (absent(row.visibility) || row.visibility === 'shared');
  return { signature: fits ? 'ok' : 'bad', event, sealed };
}

/**
 * What a move says by its signed event; null if that does not hold or says no status.
 * @param {unknown} value @param {string} contract @param {string} author "" if it is not known
 * @returns {{signature: Signature, event: NostrEvent | null, status: string, previous: string, note: string}}
 */
export function checkMove(value, contract, author) {
  const nothing = { event: null, status: '', previous: '', note: '' };
  if (absent(value)) return { ...nothing, signature: 'none' };
  const event = signed(value, STATE, contract, author);
  const says = event && object(event.content);
  if (!event || !says || typeof says.status !== 'string' || !says.status) return { ...nothing, signature: 'bad' };
  const word = (/** @type {unknown} */ v) => (typeof v === 'string' ? v : '');
  return { signature: 'ok', event, status: says.status, previous: word(says.previous_status), note: word(says.note) };
}
