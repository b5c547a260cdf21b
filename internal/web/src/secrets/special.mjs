// Values without a prefix that would be enough to tell them by.
import { sha256 } from '@noble/hashes/sha2.js';
import { alnum, base64, digit, distinct, dotted, lower, placeholder, solid, upper, url, word } from './sets.mjs';

/** @typedef {import('./scan.mjs').Scanner} Scanner */
/** @typedef {import('./scan.mjs').Finding} Finding */

/** A signed JSON web token: three parts, of which two are objects. @param {Scanner} s @param {number} at @returns {Finding | null} */
export function webToken(s, at) {
  if (!s.text.startsWith('eyJ', at)) return null;
  const head = s.run(word, at);
  if (!s.text.startsWith('.eyJ', head)) return null;
  const claims = s.run(word, head + 1);
  if (s.text[claims] !== '.') return null;
  const end = s.run(word, claims + 1);
  return head - at < 16 || claims - head < 12 || end - claims < 20 ? null : { kind: 'JSON web token', start: at, end };
}

/** Telegram's and Discord's. @param {Scanner} s @param {number} at @returns {Finding | null} */
export function botToken(s, at) {
  const id = s.run(word, at), size = id - at;
  if (size >= 8 && size <= 10 && s.run(digit, at) === id && s.text.startsWith(':AA', id)) {
    const end = s.run(word, id + 1);
    if (end - id - 1 === 35 && !placeholder(s.text.slice(id + 1, end))) return { kind: 'Telegram bot token', start: at, end };
  } else if (size >= 23 && size <= 28 && 'MNO'.includes(s.text[at]) && s.text[id] === '.') {
    const stamp = s.run(word, id + 1);
    if (stamp - id - 1 !== 6 || s.text[stamp] !== '.') return null;
    const end = s.run(word, stamp + 1), code = end - stamp - 1;
    if (code >= 27 && code <= 40 && !placeholder(s.text.slice(stamp + 1, end))) return { kind: 'Discord bot token', start: at, end };
  }
  return null;
}

/** A client secret of Entra. @param {Scanner} s @param {number} at @returns {Finding | null} */
export function azureSecret(s, at) {
  if (s.text.length - at < 37 || !s.text.startsWith('Q~', at + 4) || !s.has(digit, at + 3)) return null;
  const end = s.run(dotted, at), size = end - at;
  return size < 37 || size > 41 || placeholder(s.text.slice(at + 6, end)) ? null : { kind: 'Azure client secret', start: at, end };
}

const DIGITS58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** A Bitcoin key in wallet import format, by its checksum. @param {Scanner} s @param {number} at @returns {Finding | null} */
export function walletKey(s, at) {
  const end = s.run(alnum, at), size = end - at;
  if (size < 51 || size > 52 || !'5KLc9'.includes(s.text[at])) return null;
  const raw = new Uint8Array(40); // big-endian; 58^52 < 256^40
  for (let i = at; i < end; i++) {
    let carry = DIGITS58.indexOf(s.text[i]);
    if (carry < 0) return null;
    for (let j = raw.length - 1; j >= 0; j--) {
      carry += raw[j] * 58;
      raw[j] = carry & 255;
      carry >>= 8;
    }
  }
  const body = raw.subarray(raw.length - (size === 52 ? 38 : 37)); // version, key, a mark, checksum
  const sum = sha256(sha256(body.subarray(0, -4)));
  return body.subarray(-4).every((b, i) => b === sum[i]) ? { kind: 'Bitcoin secret key', start: at, end } : null;
}

/** An nkey seed of NATS. @param {Scanner} s @param {number} at @returns {Finding | null} */
export function natsSeed(s, at) {
  if (s.text[at] !== 'S' || s.text.length - at < 58 || !'AUONCX'.includes(s.text[at + 1])) return null;
  const end = s.run(alnum, at);
  if (end - at !== 58 || s.run(upper, at) !== end) return null;
  const seed = s.text.slice(at, end);
  return /[0189]/.test(seed) || placeholder(seed) ? null : { kind: 'NATS seed', start: at, end };
}

/** What belongs to an access key of AWS, which only the name before it gives away. @param {Scanner} s @param {number} at @returns {Finding | null} */
export function awsSecret(s, at) {
  const end = s.run(base64, at);
  if (end - at !== 40 || at > 0 && s.has(base64, at - 1) && s.text[at - 1] !== '=') return null;
  const before = lower(s.text.slice(Math.max(0, at - 40), at)).replace(/[_ -]/g, '');
  const value = s.text.slice(at, end);
  if (!before.includes('secretaccesskey') && !before.includes('awssecret') || !solid(value) && distinct(value) < 16) return null;
  return placeholder(value) ? null : { kind: 'AWS secret key', start: at, end };
}

/** The secret in the URI of a remote signer (NIP-46). @param {Scanner} s @param {number} at @returns {Finding | null} */
export function bunker(s, at) {
  if (!s.text.startsWith('bunker://', at)) return null;
  let end = s.run(url, at);
  for (let i = 0; i < 4; i++) if ('.,;)]'.includes(s.text[end - 1])) end--; // punctuation behind it
  const parts = s.text.slice(at, Math.min(end, at + 1024)).split('secret=');
  const value = parts.slice(1).join('secret=').split('&', 1)[0];
  return parts.length < 2 || value.length < 6 || placeholder(value) ? null : { kind: 'remote signer URI', start: at, end };
}
