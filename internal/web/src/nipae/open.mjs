// Opening an engram (NIP-AE, "Head selection", rules 1 to 5).
/** @typedef {import('../nostr/event.mjs').NostrEvent} NostrEvent */
import { chacha20 } from '@noble/ciphers/chacha.js';
import { equalBytes } from '@noble/ciphers/utils.js';
import { expand } from '@noble/hashes/hkdf.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes } from '@noble/hashes/utils.js';
import { isHex32, verify } from '../nostr/event.mjs';
import { addressIn } from './address.mjs';
import { Unreadable, parseBody } from './body.mjs';

export const ENGRAM = 30174;

/**
 * @typedef {object} Opened
 * @property {NostrEvent} event
 * @property {string} slug
 * @property {string | null} text null is a tombstone
 * @property {Record<string, unknown>} members what else the body has
 * @property {boolean} addressOk false where the signer gave no way to know
 */

/**
 * What keeps an event from being an engram of a pair, before it is decrypted; null
 * if nothing does. The signature is not looked at.
 * @param {NostrEvent} event @param {string} author @param {string} other
 */
export function envelopeFault(event, author, other) {
  if (event.kind !== ENGRAM || event.pubkey !== author) return 'not-engram';
  for (const name of ['d', 'p']) {
    const tags = event.tags.filter(t => t[0] === name);
    if (tags.length !== 1 || !isHex32(tags[0][1])) return 'not-engram';
  }
  if (one(event, 'p') !== other) return 'not-engram';
  return isPayload(event.content) ? null : 'not-payload';
}

/** @param {NostrEvent} event @param {string} name of a tag that is there */
const one = (event, name) => event.tags.filter(t => t[0] === name)[0][1];

// Canonical, padded base64 whose first byte is 2: what is left over of the last
// character's bits is zero.
const canonical = /^A[g-v][A-Za-z0-9+/]*(?:[AEIMQUYcgkosw048]=|[AQgw]==)?$/;

/**
 * Whether a text is a NIP-44 v2 payload in its 2-byte length form. Thousands are looked
 * at while somebody scrolls: nothing is decoded.
 * @param {string} content
 */
export function isPayload(content) {
  if (content.length < 132 || content.length > 87_472 || content.length % 4 || !canonical.test(content)) return false;
  const padded = content.length / 4 * 3 - (content.endsWith('==') ? 2 : content.endsWith('=') ? 1 : 0) - 67;
  return padded >= 32 && padded <= 65536 && paddedSize(padded) === padded;
}

/** The bytes of such a payload; null for any other text. @param {string} content */
export function payloadBytes(content) {
  if (!isPayload(content)) return null;
  const text = atob(content), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** calc_padded_len of NIP-44. @param {number} n */
export function paddedSize(n) {
  if (n <= 32) return 32;
  const chunk = Math.max(32, 2 ** Math.ceil(Math.log2(n)) / 8);
  return chunk * (Math.floor((n - 1) / chunk) + 1);
}

/** The message keys of NIP-44. @param {Uint8Array} key of the conversation @param {Uint8Array} nonce */
export const messageKeys = (key, nonce) => expand(sha256, key, nonce, 76);

/**
 * Decrypts a payload to its bytes; nostr-tools gives text, and replaces what is no
 * UTF-8 in it.
 * @param {Uint8Array} key of the conversation @param {string} content
 */
export function decrypt(key, content) {
  const bytes = payloadBytes(content);
  if (!bytes) throw new Unreadable('not-payload');
  const nonce = bytes.subarray(1, 33), sealed = bytes.subarray(33, -32);
  const keys = messageKeys(key, nonce);
  const mac = hmac(sha256, keys.subarray(44, 76), concatBytes(nonce, sealed));
  if (!equalBytes(mac, bytes.slice(-32))) throw new Unreadable('not-decrypted');
  const plain = chacha20(keys.slice(0, 32), keys.slice(32, 44), sealed.slice());
  const size = plain[0] << 8 | plain[1];
  if (size < 1 || plain.length !== 2 + paddedSize(size)) throw new Unreadable('not-decrypted');
  return plain.subarray(2, 2 + size);
}

/**
 * What an event says. Throws Unreadable.
 * @param {Uint8Array} key of the pair @param {NostrEvent} event
 * @param {string} author @param {string} other
 * @returns {Opened}
 */
export function open(key, event, author, other) {
  const fault = envelopeFault(event, author, other);
  if (fault) throw new Unreadable(fault);
  if (!verify(event)) throw new Unreadable('not-signed');
  const body = parseBody(decrypt(key, event.content));
  if (addressIn(key, author, other, body.slug) !== one(event, 'd')) throw new Unreadable('wrong-address');
  return { event, slug: body.slug, text: body.text, members: body.members, addressOk: true };
}

/**
 * What a text says that a signer decrypted: neither its address nor its UTF-8 can
 * be checked there.
 * @param {NostrEvent} event @param {string} plain @returns {Opened}
 */
export function openedBySigner(event, plain) {
  const body = parseBody(plain);
  return { event, slug: body.slug, text: body.text, members: body.members, addressOk: false };
}
