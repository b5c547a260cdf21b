// Values that were taken apart or wrapped, on purpose or by a program.
import { saidSecret } from './hexkey.mjs';
import { Scanner } from './scan.mjs';
import { alnum, base64url, bech, distinct, hex, lower } from './sets.mjs';

/** @typedef {import('./scan.mjs').Finding} Finding */

// The tags of a flag, and tag characters (U+E0000 to U+E007F), in UTF-8.
const FLAG = /(?<=\xf0\x9f\x8f\xb4)(?:\xf3\xa0(?:\x80[\xb0-\xb9]|\x81[\xa1-\xba])){3,6}\xf3\xa0\x81\xbf/y;
const TAGS = /(?:\xf3\xa0[\x80\x81][\x80-\xbf])+/y;

/** A text in tag characters that are no flag's: a person sees nothing of it. @param {Scanner} s @param {number} at @returns {Finding | null} */
export function tags(s, at) {
  FLAG.lastIndex = TAGS.lastIndex = at;
  if (at >= s.flagEnd && FLAG.test(s.text)) s.flagEnd = FLAG.lastIndex;
  return at >= s.flagEnd && TAGS.test(s.text) ? { kind: 'tag characters, which show nothing', start: at, end: TAGS.lastIndex } : null;
}

// Space, a line end, a sign with which values are split, joined or quoted, or a character
// without width, in UTF-8.
const SEPARATOR = /[ \t\r\n.,:;_|/*+='"-]|\xc2[\xad\xa0]|\xe2\x80[\x8b-\x8d\xaf]|\xe2\x81\xa0|\xef\xbb\xbf/y;

/** @param {Scanner} s @param {number} at @returns {number} the bytes of a separator there */
function separator(s, at) {
  SEPARATOR.lastIndex = at;
  return SEPARATOR.exec(s.text)?.[0].length ?? 0;
}

/** An nsec with something between its characters, by its checksum. @param {Scanner} s @param {number} at @returns {Finding | null} */
export function brokenKey(s, at) {
  const human = 'nsec1';
  let key = '', from = at;
  while (key.length < human.length + 58) {
    for (let i = 0; i < 8 && key; i++) from += separator(s, from);
    const c = lower(s.text[from] ?? '');
    if (!c || (key.length < human.length ? c !== human[key.length] : !s.has(bech, from))) return null;
    key += c;
    from++;
  }
  return s.has(alnum, from) || !bechHolds('nsec', key.slice(human.length)) ? null : { kind: 'Nostr secret key', start: at, end: from };
}

/** An nsec that is written backwards. @param {Scanner} s @param {number} at @returns {Finding | null} */
export function reversedKey(s, at) {
  const end = s.run(alnum, at);
  if (end - at !== 63 || lower(s.text[end - 1]) !== 'n') return null;
  const key = [...lower(s.text.slice(at, end))].reverse().join('');
  return /^nsec1[02-9ac-hj-np-z]{58}$/.test(key) && bechHolds('nsec', key.slice(5)) ? { kind: 'Nostr secret key', start: at, end } : null;
}

/** The sum of a bech32 text (BIP-173) in lower case. @param {string} human @param {string} data */
function bechHolds(human, data) {
  let sum = 1;
  const step = (/** @type {number} */ v) => {
    const top = sum >>> 25;
    sum = (sum & 0x1ffffff) << 5 ^ v;
    [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3].forEach((g, i) => { if (top >>> i & 1) sum ^= g; });
  };
  for (const c of human) step(c.charCodeAt(0) >> 5);
  step(0);
  for (const c of human) step(c.charCodeAt(0) & 31);
  for (const c of data) step('qpzry9x8gf2tvdw0s3jn54khce6mua7l'.indexOf(c));
  return sum === 1;
}

/** The bytes of what code writes before a byte in hex. @param {string} text @param {number} at */
const marker = (text, at) => ['0x', '0X', '\\x'].some((mark) => text.startsWith(mark, at)) ? 2 : 0;

/** 64 hex digits in groups of one size with signs or line ends between them, as code writes bytes too. @param {Scanner} s @param {number} at @returns {Finding | null} */
export function groupedHex(s, at) {
  const start = at + (s.text[at] === 'x' && s.text[at - 1] === '\\' ? 1 : marker(s.text, at));
  let size = 0;
  while (size < 64 && s.has(hex, start + size)) size++;
  if (size < 2 || size > 32 || 64 % size) return null;
  const group = (/** @type {number} */ from) => {
    for (let i = 0; i < size; i++) if (!s.has(hex, from + i)) return false;
    return !s.has(hex, from + size);
  };
  let end = start + size, between = '';
  for (let i = 1; i < 64 / size; i++) {
    let next = end;
    for (let j = 0; j < 8; j++) next += separator(s, next);
    next += marker(s.text, next);
    if (next === end || !group(next)) return null;
    between = s.text.slice(end, next);
    end = next + size;
  }
  if (s.has(alnum, end) || s.text.startsWith(between, end) && group(end + between.length)) return null;
  return distinct(s.text.slice(start, end)) < 8 || !saidSecret(s, at, end) ? null : { kind: 'secret key in hex', start, end };
}

const MIN_ENCODED = 32;

/** A secret in text that is written in base64. @param {Scanner} s @param {number} at @returns {Finding | null} */
export function encoded(s, at) {
  if (s.inside || at > 0 && s.has(base64url, at - 1)) return null;
  let end = at;
  while (s.has(base64url, end)) end++;
  if (end - at < MIN_ENCODED) return null;
  let code = s.text.slice(at, end).replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/');
  if (code.length % 4 === 1) code = code.slice(0, -1); // a single digit too many is no byte
  if (code.includes('=')) return null;
  const plain = atob(code);
  if (!/^[\n\r\t -~]+$/.test(plain)) return null;
  const [first] = new Scanner(plain, true).all();
  return first ? { kind: `${first.kind} in base64`, start: at, end } : null;
}
