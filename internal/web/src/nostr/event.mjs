// Events of NIP-01: their shape, their id and their signature. Whatever comes from
// a relay goes through parseEvent before anything else looks at it.
import { schnorr } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';

/** @typedef {{id: string, pubkey: string, created_at: number, kind: number, tags: string[][], content: string, sig: string}} NostrEvent */
/** @typedef {{kind: number, created_at: number, tags: string[][], content: string}} Template */

// Bounds of one event: what engramd takes at most, and some.
const MAX_TAGS = 5000;
const MAX_ITEMS = 20_000;
const MAX_CONTENT = 2 << 20;

/** @param {unknown} s @returns {s is string} 64 lower-case hex digits */
export const isHex32 = s => typeof s === 'string' && /^[0-9a-f]{64}$/.test(s);

/** @param {string} s whether it is Unicode, and so has an id */
const wellFormed = s => s.isWellFormed();

/**
 * The event that a value is, with these seven members alone; null if it is none.
 * Neither id nor signature are checked: see verify.
 * @param {unknown} value @returns {NostrEvent | null}
 */
export function parseEvent(value) {
  if (typeof value !== 'object' || value === null) return null;
  const { id, pubkey, created_at, kind, tags, content, sig } = /** @type {Record<string, unknown>} */ (value);
  if (!isHex32(id) || !isHex32(pubkey) || typeof sig !== 'string' || !/^[0-9a-f]{128}$/.test(sig)) return null;
  if (!natural(created_at, Number.MAX_SAFE_INTEGER) || !natural(kind, 65535)) return null;
  if (typeof content !== 'string' || content.length > MAX_CONTENT || !wellFormed(content)) return null;
  if (!areTags(tags)) return null;
  return { id, pubkey, created_at, kind, tags, content, sig };
}

/** @param {unknown} n @param {number} most @returns {n is number} */
const natural = (n, most) => typeof n === 'number' && Number.isInteger(n) && n >= 0 && n <= most;

/** @param {unknown} tags @returns {tags is string[][]} */
function areTags(tags) {
  if (!Array.isArray(tags) || tags.length > MAX_TAGS) return false;
  let items = 0;
  for (const tag of tags) {
    if (!Array.isArray(tag) || (items += tag.length) > MAX_ITEMS) return false;
    for (const item of tag) if (typeof item !== 'string' || !wellFormed(item)) return false;
  }
  return true;
}

/**
 * The id by NIP-01, 64 lower-case hex digits.
 * @param {Omit<NostrEvent, 'id' | 'sig'>} event
 */
export function eventId({ pubkey, created_at, kind, tags, content }) {
  return bytesToHex(sha256(utf8ToBytes(JSON.stringify([0, pubkey, created_at, kind, tags, content]))));
}

/** Whether id and signature (BIP-340) hold. @param {NostrEvent} event */
export function verify(event) {
  if (eventId(event) !== event.id) return false;
  try {
    return schnorr.verify(hexToBytes(event.sig), hexToBytes(event.id), hexToBytes(event.pubkey));
  } catch {
    return false; // a key that is no point of the curve
  }
}

/** The value of the first tag of that name that has one. @param {{tags: string[][]}} event @param {string} name */
export const tag = (event, name) => event.tags.find(t => t[0] === name && t.length > 1)?.[1];
