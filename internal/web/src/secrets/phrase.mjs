// The words from which a wallet is made (BIP-39). They are everyday words, of which
// even twelve in a row may come up by chance: their checksum tells, or what is said
// before them.
import { sha256 } from '@noble/hashes/sha2.js';
import list from '../../../secrets/bip39.json' with { type: 'json' };
import { BEFORE } from './hexkey.mjs';
import { alnum, digit, lower } from './sets.mjs';

/** @typedef {import('./scan.mjs').Scanner} Scanner */
/** @typedef {import('./scan.mjs').Finding} Finding */
/** @typedef {{number: number, start: number, end: number}} ListWord */

const MIN = 12, MAX = 24, MAX_GAP = 12;
const numbers = new Map(list.map((w, i) => [w, i]));

/** @param {Scanner} s @param {number} at @returns {Finding | null} */
export function phrase(s, at) {
  const run = listWords(s, at);
  if (run.length < MIN) return null;
  for (let size = run.length - run.length % 3; size >= MIN; size -= 3) {
    if (holds(run.slice(0, size))) return { kind: 'seed phrase', start: at, end: run[size - 1].end };
  }
  return said(s, at) ? { kind: 'seed phrase', start: at, end: run[run.length - 1].end } : null;
}

/**
 * The words of the list that stand one after the other from a place on. Those that
 * were found for the word before are not looked up again.
 * @param {Scanner} s @param {number} at
 */
function listWords(s, at) {
  while (s.words.length && s.words[0].start < at) s.words.shift();
  let from = at;
  const last = s.words.at(-1);
  if (last && s.words[0].start === at) from = gap(s, last.end);
  else s.words = [];
  while (s.words.length < MAX && from >= 0 && from < s.text.length) {
    const end = s.run(alnum, from);
    const number = end - from < 3 || end - from > 8 ? undefined : numbers.get(lower(s.text.slice(from, end)));
    if (number === undefined) break;
    s.words.push({ number, start: from, end });
    from = gap(s, end);
  }
  return s.words;
}

/** Where the next word begins, -1 if something else stands between. @param {Scanner} s @param {number} at */
function gap(s, at) {
  for (let end = at; end < s.text.length && end - at <= MAX_GAP; end++) {
    if (s.has(digit, end) || ' \t\r\n,;|/.)-"\''.includes(s.text[end])) continue;
    return s.has(alnum, end) && end > at ? end : -1;
  }
  return -1;
}

/** The sum in the last bits of a phrase. @param {ListWord[]} words */
function holds(words) {
  const bits = new Uint8Array(33);
  words.forEach((w, i) => {
    for (let b = 0; b < 11; b++) if (w.number >> (10 - b) & 1) bits[(11 * i + b) >> 3] |= 0x80 >> ((11 * i + b) & 7);
  });
  const size = words.length * 4 / 3; // bytes of entropy; the rest is the sum
  const check = words.length / 3; // bits of it
  return bits[size] >> (8 - check) === sha256(bits.subarray(0, size))[0] >> (8 - check);
}

/** @param {Scanner} s @param {number} at */
function said(s, at) {
  const before = lower(s.text.slice(Math.max(0, at - BEFORE), at));
  return ['seed', 'mnemonic', 'recovery', 'backup phrase', 'secret phrase', 'wallet', 'bip39', 'bip-39'].some((w) => before.includes(w));
}
