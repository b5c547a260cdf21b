// What looks like a key or a token in a text: the same as internal/secrets finds in Go,
// by the same file of shapes (testdata/vectors/web-secrets.json). It takes time linear
// in the text: whatever is done at one place is bounded, or remembered.
import shapes from '../../../secrets/shapes.json' with { type: 'json' };
import { keyBlock } from './block.mjs';
import { brokenKey, encoded, groupedHex, reversedKey, tags } from './hidden.mjs';
import { hexKey } from './hexkey.mjs';
import { addressPassword, saidPassword } from './password.mjs';
import { phrase } from './phrase.mjs';
import { alnum, named, placeholder, solid } from './sets.mjs';
import { awsSecret, azureSecret, botToken, bunker, natsSeed, walletKey, webToken } from './special.mjs';

/** @typedef {{kind: string, start: number, end: number}} Finding of bytes */
/** @typedef {{prefix: string, kind: string, body: Uint8Array, min: number, max: number, solid: boolean}} Shape */

/** @type {Map<string, Shape[]>} by the first byte; of those that begin alike the longer come first */
const byFirst = new Map();
for (const [prefix, kind, set, min, max, solid] of /** @type {[string, string, string, number, number, boolean][]} */ (shapes)) {
  byFirst.set(prefix[0], [...byFirst.get(prefix[0]) ?? [], { prefix, kind, body: named[set], min, max, solid }]);
}

const specials = [hexKey, webToken, botToken, azureSecret, walletKey, natsSeed, awsSecret, bunker, brokenKey, reversedKey, groupedHex, addressPassword, saidPassword, phrase, encoded];

export class Scanner {
  /** @type {Map<Uint8Array, [number, number]>} */ #runs = new Map();
  /** There is no END line of a key block in the rest. */
  noEnd = false;
  /** Where the run of list words ends that was looked at last. */
  wordsEnd = 0;
  /** Where the flag ends whose tags were looked at last. */
  flagEnd = 0;
  /** @type {import('./phrase.mjs').ListWord[][]} phrases in it that are not reached yet */
  phrases = [];

  /** @param {string} text a character for each byte @param {boolean} inside whether it was written in base64 in another */
  constructor(text, inside = false) {
    this.text = text;
    this.inside = inside;
  }

  /** @returns {Finding[]} in order, without overlaps */
  all() {
    const found = [];
    for (let at = 0; at < this.text.length;) {
      const f = this.#find(at);
      if (f) found.push(f);
      at = f ? f.end : at + 1;
    }
    return found;
  }

  /** Whether the byte at a place is there and in a set. @param {Uint8Array} set @param {number} at */
  has(set, at) {
    return at < this.text.length && set[this.text.charCodeAt(at)] === 1;
  }

  /** @param {number} at @returns {Finding | null} */
  #find(at) {
    const c = this.text[at];
    if (c === '-') return keyBlock(this, at);
    if (c === '\xf3') return tags(this, at);
    if (!this.has(alnum, at) || at > 0 && this.has(alnum, at - 1) && !this.#escaped(at)) return null;
    for (const shape of byFirst.get(c) ?? []) {
      const f = this.#shaped(at, shape);
      if (f) return f;
    }
    for (const special of specials) {
      const f = special(this, at);
      if (f) return f;
    }
    return null;
  }

  /** Whether the letter before belongs to an escape such as \n in JSON or code. @param {number} at */
  #escaped(at) {
    return at > 1 && this.text[at - 2] === '\\' && 'nrt'.includes(this.text[at - 1]);
  }

  /** Where the bytes of a set end that begin at a place. @param {Uint8Array} set @param {number} from */
  run(set, from) {
    const known = this.#runs.get(set);
    if (known && known[0] <= from && from < known[1]) return known[1];
    let end = from;
    while (this.has(set, end)) {
      end++;
      if (known && end === known[0] && known[1] > known[0]) end = known[1];
    }
    if (end > from) this.#runs.set(set, [from, end]);
    return end;
  }

  /** @param {number} at @param {Shape} shape @returns {Finding | null} */
  #shaped(at, shape) {
    if (!this.text.startsWith(shape.prefix, at)) return null;
    const from = at + shape.prefix.length;
    let end = this.run(shape.body, from);
    for (let i = 0; i < 8; i++) if (end > from && '.-_'.includes(this.text[end - 1])) end--; // punctuation behind it
    const size = end - from;
    if (size < shape.min || shape.max > 0 && (size > shape.max || this.has(alnum, end))) return null;
    const body = this.text.slice(from, end);
    return placeholder(body) || shape.solid && !solid(body) ? null : { kind: shape.kind, start: at, end };
  }
}
