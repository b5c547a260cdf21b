// The words from which a wallet is made (BIP-39). They are everyday words, of which
// even twelve in a row may come up by chance: their checksum tells, or that they are
// called so. A run of words is looked at once, as a whole.
import { sha256 } from '@noble/hashes/sha2.js';
import list from '../../../secrets/bip39.json' with { type: 'json' };
import { AFTER, BEFORE } from './hexkey.mjs';
import { alnum, lower } from './sets.mjs';

/** @typedef {import('./scan.mjs').Scanner} Scanner */
/** @typedef {import('./scan.mjs').Finding} Finding */
/** @typedef {{number: number, start: number, end: number}} ListWord */

const MIN = 12, MAX = 24, MORE = 4;
const numbers = new Map(list.map((w, i) => [w, i]));

/** @param {Scanner} s @param {number} at @returns {Finding | null} */
export function phrase(s, at) {
  if (at < s.wordsEnd) return null;
  const { run, counted } = listWords(s, at);
  const found = calledPhrase(s, run) ?? (counted && run.length <= MAX + MORE ? summed(run) : null);
  return found && { kind: 'seed phrase', start: found[0].start, end: found[found.length - 1].end };
}

/** The first part of a run whose checksum holds, the longest there. @param {ListWord[]} run */
function summed(run) {
  for (let from = 0; from <= MORE; from++) {
    for (let size = MAX; size >= MIN && size >= run.length - MORE; size -= 3) {
      const part = run.slice(from, from + size);
      if (part.length === size && 5 * different(part) >= 4 * size && holds(part)) return part;
    }
  }
  return null;
}

/**
 * The words of the list that stand one after the other from a place on, at most one more
 * than there may be around a phrase, and whether the numbers between them count up.
 * @param {Scanner} s @param {number} at
 */
function listWords(s, at) {
  /** @type {ListWord[]} */ const run = [];
  let counted = true, last = 0;
  for (let from = at; from >= 0 && from < s.text.length;) {
    const end = s.run(alnum, from);
    const number = end - from < 3 || end - from > 8 ? undefined : numbers.get(lower(s.text.slice(from, end)));
    if (number === undefined) break;
    s.wordsEnd = end;
    if (run.length <= MAX + MORE) run.push({ number, start: from, end });
    const [next, n] = gap(s.text, end);
    if (n >= 0) {
      counted &&= n > last;
      last = n;
    }
    from = next;
  }
  return { run, counted };
}

/** @param {ListWord[]} run */
const different = (run) => new Set(run.map((w) => w.number)).size;

/** Where the next word begins, -1 if something else stands between; and a number of a list there, -1 for none. @param {string} text @param {number} at @returns {[number, number]} */
function gap(text, at) {
  const between = /^[ \t\r\n,;|/)*`[\]"'-]*(?:(\d\d?)[ \t\r\n,;:|/.)*`[\]"'-]*)?/.exec(text.slice(at, at + 13)) ?? [''];
  const next = at + between[0].length;
  return between[0] && between[0].length <= 12 && !/\n[^]*\n/.test(between[0]) && /[A-Za-z]/.test(text[next] ?? '') ? [next, Number(between[1] ?? -1)] : [-1, -1];
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

/**
 * The part of a run that is called a phrase by a word before it, behind it, or among the
 * first or last of the run; half of it may be repeated.
 * @param {Scanner} s @param {ListWord[]} run
 */
function calledPhrase(s, run) {
  if (run.length < MIN) return null;
  /** @type {ListWord[] | null} */ let part = null;
  for (let i = Math.min(MORE, run.length - MIN); i >= 0 && !part; i--) {
    if (called(s.text.slice(Math.max(0, run[i].start - BEFORE), run[i].start))) part = run.slice(i, i + MAX);
  }
  const last = run[Math.max(MIN, run.length - MORE) - 1].end;
  if (!part && run.length <= MAX + MORE && called(s.text.slice(last, s.wordsEnd + AFTER))) part = run.slice(0, MAX);
  return part && 2 * different(part) >= part.length ? part : null;
}

/** Whether words say that a phrase is beside them. @param {string} words */
const called = (words) => /seed|mnemonic|recovery|backup phrase|secret phrase|wallet|bip-?39/.test(lower(words));
