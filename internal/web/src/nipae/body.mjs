// The body of an engram (NIP-AE, "Bodies"): one JSON object, read as strictly as
// nips/nipae does it in Go. testdata/vectors/web-bodies.json holds both to it.
import { strictJSON } from './json.mjs';
import { validSlug } from './slug.mjs';

/** The most bytes of a body. */
export const MAX_BODY = 65535;

/** What cannot be read. Its word is one of words.mjs; it holds nothing of the text. */
export class Unreadable extends Error {
  /** @param {string} word */
  constructor(word) {
    super(word);
    this.name = 'Unreadable';
    this.word = word;
  }
}

/**
 * @typedef {object} Body
 * @property {string} slug
 * @property {string | null} text the profile of core or the value of a memory; null is a tombstone
 * @property {Record<string, unknown>} members all others
 */

/** @param {Uint8Array | string} bytes @returns {Body} */
export function parseBody(bytes) {
  const text = typeof bytes === 'string' ? bytes : decode(bytes);
  if (typeof bytes === 'string' ? new TextEncoder().encode(bytes).length > MAX_BODY : bytes.length > MAX_BODY) throw new Unreadable('too-large');
  const members = strictJSON(text);
  if (members === undefined || typeof members !== 'object' || members === null || Array.isArray(members)) throw new Unreadable('not-json');
  const { slug, ...others } = /** @type {Record<string, unknown>} */ (members);
  if (typeof slug !== 'string' || !validSlug(slug)) throw new Unreadable('no-slug');
  const name = slug === 'core' ? 'profile' : 'value';
  const value = Object.hasOwn(others, name) ? others[name] : undefined;
  delete others[name];
  if (typeof value !== 'string' && (value !== null || slug === 'core')) throw new Unreadable('no-text');
  return { slug, text: value, members: others };
}

/** @param {Uint8Array} bytes */
function decode(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Unreadable('not-utf8');
  }
}
