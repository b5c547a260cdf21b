// The words from which a wallet is made (BIP-39). They are everyday words, of which
// even twelve in a row may come up by chance: their checksum tells, or that they are
// called so. A run of words is looked at once, as a whole.
import { sha256 } from '@noble/hashes/sha2.js';
import list from '../../../secrets/bip39.json' with { type: 'json' };
import { AFTER, BEFORE } from './hexkey.mjs';
import { alnum, lower } from './sets.mjs';

/** @typedef {import('./scan.mjs').Scanner} Scanner */
/** @typedef {import('./scan.mjs').Finding} Finding */
/** @typedef {{number: number, start: number, end: number, apart: boolean}} ListWord apart if more than blanks stand before it */

const MIN = 12, MAX = 24, MORE = 4;
const numbers = new Map(list.map((w, i) => [w, i]));

/** @param {Scanner} s @param {number} at @returns {Finding | null} */
export function phrase(s, at) {
  if (at >= s.wordsEnd) s.phrases = phrasesFrom(s, at);
  for (let words = s.phrases.shift(); words; words = s.phrases.shift()) {
    if (words[0].start >= at) return { kind: 'seed phrase', start: words[0].start, end: words[words.length - 1].end };
  }
  return null;
}

/**
 * The phrases in the run of words that begins at a place: the one that is called so, and
 * those behind it whose checksums hold.
 * @param {Scanner} s @param {number} at @returns {ListWord[][]}
 */
function phrasesFrom(s, at) {
  const { run, counted } = listWords(s, at);
  const part = calledPhrase(s, run);
  const rest = part ? run.slice(run.indexOf(part[0]) + part.length) : run;
  return [...part ? [part] : [], ...counted && rest.length >= MIN ? summed(rest) : []];
}

/**
 * The phrases of a run whose checksums hold: that or those two which it is, with a few
 * words more at most, else those of its lines and items.
 * @param {ListWord[]} run
 */
function summed(run) {
  const found = summedWhole(run);
  if (found.length) return found;
  for (let from = 0, to = 1; from < run.length; from = to, to++) {
    while (to < run.length && !run[to].apart) to++;
    if (to - from >= MIN && to - from < run.length) found.push(...summedWhole(run.slice(from, to)));
  }
  return found;
}

/**
 * The phrase or the two phrases that a run is, or its first part without a few words that
 * is one, the longest there.
 * @param {ListWord[]} run @returns {ListWord[][]}
 */
function summedWhole(run) {
  for (let size = MIN; size <= Math.min(MAX, run.length - MIN); size += 3) {
    const two = [run.slice(0, size), run.slice(size)];
    if (!holds(run) && two.every(holds)) return two;
  }
  for (let from = 0; from <= MORE; from++) {
    for (let size = MAX; size >= MIN && size >= run.length - MORE; size -= 3) {
      const part = run.slice(from, from + size);
      if (part.length === size && holds(part)) return [part];
    }
  }
  return [];
}

/**
 * The words of the list that stand one after the other from a place on, and whether the
 * numbers between them count up, if there are any. Where they begin again behind a whole
 * phrase, another run does.
 * @param {Scanner} s @param {number} at
 */
function listWords(s, at) {
  /** @type {ListWord[]} */ const run = [];
  let counted = true, last = 0, apart = false;
  for (let from = at; from >= 0 && from < s.text.length;) {
    const end = s.run(alnum, from);
    const number = end - from < 3 || end - from > 8 ? undefined : numbers.get(lower(s.text.slice(from, end)));
    if (number === undefined) break;
    s.wordsEnd = end;
    run.push({ number, start: from, end, apart });
    const [next, n] = gap(s.text, end);
    if (n >= 0 && n <= Math.min(last, 1) && run.length >= MIN) break;
    if (n >= 0) {
      counted &&= n > last;
      last = n;
    }
    apart = next > 0 && /[^ \t]/.test(s.text.slice(end, next));
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

/** The sum in the last bits of a phrase, of which most words differ. @param {ListWord[]} words */
function holds(words) {
  if (words.length < MIN || words.length > MAX || words.length % 3 || 5 * different(words) < 4 * words.length) return false;
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
