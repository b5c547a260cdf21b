// 64 hex digits, or 128, beside a word that says that they are secret. Of the words
// before them the nearest that says anything counts, so that a public key or an id
// beside a secret one passes.
import { alnum, hex, lower, placeholder } from './sets.mjs';

/** @typedef {import('./scan.mjs').Scanner} Scanner */
/** @typedef {import('./scan.mjs').Finding} Finding */

export const BEFORE = 64;
export const AFTER = 32;

/** @param {Scanner} s @param {number} at @returns {Finding | null} */
export function hexKey(s, at) {
  const from = s.text.startsWith('0x', at) || s.text.startsWith('0X', at) ? at + 2 : at;
  const end = s.run(hex, from), size = end - from;
  if (size !== 64 && size !== 128 || s.has(alnum, end)) return null;
  return placeholder(s.text.slice(from, end)) || !saidSecret(s, at, end) ? null : { kind: 'secret key in hex', start: from, end };
}

/** @param {string} text */
const lastLine = (text) => text.slice(text.lastIndexOf('\n') + 1);

/** @param {Scanner} s @param {number} start @param {number} end */
export function saidSecret(s, start, end) {
  let before = lastLine(s.text.slice(Math.max(0, start - BEFORE), start));
  if (!/[A-Za-z]/.test(before)) {
    const above = s.text.slice(Math.max(0, start - before.length - 1 - BEFORE), Math.max(0, start - before.length - 1));
    before = lastLine(above.replace(/[ \t\r\n]+$/, ''));
  }
  const words = wordsOf(before);
  for (let i = words.length - 1; i >= 0; i--) {
    const says = meaning(words[i], words[i - 1] ?? '', i === words.length - 1);
    if (says) return says === 'secret';
  }
  const after = s.text.slice(end, end + AFTER).split('\n', 1)[0];
  if (!/^[ \t]*(?:[(=#]|\/\/|--? |\xe2\x80[\x93\x94] |<-|is )/.test(after)) return false;
  let previous = '';
  for (const word of wordsOf(after)) {
    const says = meaning(word, previous, false);
    if (says) return says === 'secret';
    previous = word;
  }
  return false;
}

/** The words of a text in lower case, of names in camel case too. @param {string} text */
const wordsOf = (text) => (text.match(/[A-Za-z0-9]+/g) ?? []).flatMap((w) => w.split(/(?<=[a-z])(?=[A-Z])/)).map(lower);

const secret = new Set(('secret secrets secretkey seckey sk private priv privatekey privkey prvkey nsec seed token apikey password passwd passphrase '
  + 'credential credentials').split(' '));
const open = new Set('id ids hash hashes sha sha256 digest checksum commit pubkey pubkeys public pub pk npub txid tx sig signature fingerprint'.split(' '));
const named = new Set('event note engram contract block image layer file blob e p d x q'.split(' '));
const keys = new Set('api access encryption decryption master signing symmetric conversation aes hmac'.split(' '));

/**
 * What a word says of the value beside it.
 * @param {string} word @param {string} previous @param {boolean} next whether no other stands between
 * @returns {'secret' | 'public' | ''}
 */
function meaning(word, previous, next) {
  if (secret.has(word)) return 'secret';
  if (word === 'key') return keys.has(previous) ? 'secret' : previous === 'public' ? 'public' : '';
  return open.has(word) || next && named.has(word) ? 'public' : '';
}
