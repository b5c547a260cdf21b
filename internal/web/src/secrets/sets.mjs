// Sets of the bytes that values are made of (internal/secrets/set.go). A text is looked
// at as its UTF-8, one character for each byte.

/** @param {RegExp} of @returns {Uint8Array} which of 256 bytes are in it */
const table = (of) => Uint8Array.from({ length: 256 }, (_, c) => Number(of.test(String.fromCharCode(c))));

export const digit = table(/[0-9]/);
export const hex = table(/[0-9a-fA-F]/);
export const upper = table(/[A-Z0-9]/);
export const bech = table(/[02-9ac-hj-np-zAC-HJ-NP-Z]/);
export const alnum = table(/[A-Za-z0-9]/);
export const word = table(/[A-Za-z0-9_-]/);
export const dotted = table(/[A-Za-z0-9_.=~-]/);
export const base64 = table(/[A-Za-z0-9+/=]/);
export const url = table(/[!#-&(-;=?-_a-~]/);
export const base64url = table(/[A-Za-z0-9+/=_-]/);

/** @type {Record<string, Uint8Array>} by their names in shapes.json */
export const named = { digit, hex, upper, bech, alnum, word, dotted, base64, url };

/** @param {string} s with the letters of ASCII in lower case */
export const lower = (s) => s.replace(/[A-Z]+/g, (c) => c.toLowerCase());

/** @param {string} s @returns {number} of different bytes */
export const distinct = (s) => new Set(s).size;

const LOOKED = 128; // bytes of a value that are looked at to tell whether it is one

/** Whether a value is made up: of few different characters, or with a word in it that says so. @param {string} body */
export function placeholder(body) {
  const s = lower(body.slice(0, LOOKED));
  return distinct(s) < Math.min(7, s.length >> 1) || s.includes('example') || s.includes('xxxx');
}

/** Whether a value has 20 letters and digits in a row, some of each: words with hyphens have not. @param {string} body */
export function solid(body) {
  for (const [run] of body.slice(0, LOOKED).matchAll(/[A-Za-z0-9]{20,}/g)) {
    if ((run.match(/[0-9]/g) ?? []).length > 1 && (run.match(/[A-Za-z]/g) ?? []).length > 1) return true;
  }
  return false;
}
