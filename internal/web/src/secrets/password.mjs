// Passwords in addresses, and what a text says is one.
import standIns from '../../../secrets/standins.json' with { type: 'json' };
import { alnum, digit, distinct, lower } from './sets.mjs';

/** @typedef {import('./scan.mjs').Scanner} Scanner */
/** @typedef {import('./scan.mjs').Finding} Finding */

const MAX_SCHEME = 24, MAX_INFO = 256, MAX_WHOSE = 40, MAX_PASSWORD = 128;

/** scheme://user:password@host. @param {Scanner} s @param {number} at @returns {Finding | null} */
export function addressPassword(s, at) {
  const scheme = /^([A-Za-z0-9+.-]*):\/\//.exec(s.text.slice(at, at + MAX_SCHEME + 3))?.[1];
  if (scheme === undefined) return null;
  const from = at + scheme.length + 3;
  const info = s.text.slice(from, from + MAX_INFO).split(/[/?# \t\r\n"'`<>]/, 1)[0];
  const last = info.lastIndexOf('@'), colon = info.indexOf(':');
  if (last < 0 || colon < 0 || colon > last || made(info.slice(colon + 1, last))) return null;
  return { kind: 'password in an address', start: from + colon + 1, end: from + last };
}

// A character for each byte, as in the text. Short ones in ASCII stand by themselves,
// their last letter perhaps repeated: names and random letters have them inside.
const words = standIns.map((w) => String.fromCharCode(...new TextEncoder().encode(w)))
  .map((w) => new RegExp(/^[a-z-]{1,7}$/.test(w) ? `(?<![a-z])${w}${w.slice(-1)}*(?![a-z])` : w));

/** Whether a password only stands for one. @param {string} value */
function made(value) {
  const s = lower(value);
  return value === '' || /[${}[\]<>*%]|\xe2\x80\xa6/.test(value) && !value.includes('%2') && !value.includes('%4')
    || distinct(s) < 3 || words.some((w) => w.test(s));
}

/** "password is …", "password for the door: …", "PASSWORD=…". @param {Scanner} s @param {number} at @returns {Finding | null} */
export function saidPassword(s, at) {
  const name = /^(?:passphrase|passcode|password|passwort|passwd|pwd)/i.exec(s.text.slice(at, at + 10))?.[0];
  if (!name || s.has(alnum, at + name.length)) return null;
  let from = afterIs(s, at + name.length);
  if (from < 0) return null;
  const quote = '"\'`'.includes(s.text[from] ?? ' ') ? s.text[from] : '';
  if (quote) from++;
  let value = s.text.slice(from, from + MAX_PASSWORD);
  if (quote) {
    const end = value.indexOf(quote);
    if (end < 0 || value.slice(0, end).includes('\n')) return null;
    value = value.slice(0, end);
  } else {
    value = value.split(/[ \t\r\n"'`<>]/, 1)[0];
    while (value && '.,;:!?)'.includes(value[value.length - 1])) value = value.slice(0, -1);
  }
  return passwordLike(value, quote !== '') ? { kind: 'password', start: from, end: from + value.length } : null;
}

/** Where the value begins that is given after a sign or an "is" on the same line, or -1. @param {Scanner} s @param {number} from */
function afterIs(s, from) {
  const rest = s.text.slice(from, from + MAX_WHOSE);
  for (let i = 0; i < rest.length; i++) {
    const c = rest[i];
    if (c === ':' || c === '=') {
      for (i++; i < rest.length && ' \t=>'.includes(rest[i]);) i++;
      return from + i;
    }
    if (rest.startsWith(' is ', i) || rest.startsWith(' was ', i)) return from + rest.indexOf(' ', i + 1) + 1;
    if (!/[A-Za-z0-9 \t'"`_-]/.test(c)) return -1;
  }
  return -1;
}

/** Whether a value may be a password and looks like no code, path, name or technical word. @param {string} value @param {boolean} quoted */
function passwordLike(value, quoted) {
  if (value.length < 6 || made(value) || /[()\\]/.test(value) || /^(?:\/|\.\/|~\/|--)/.test(value) || value.includes('://')) return false;
  let digits = 0, letters = 0, signs = 0;
  for (let i = 0; i < value.length; i++) {
    const c = value.charCodeAt(i);
    if (digit[c]) digits++;
    else if (alnum[c]) letters++;
    else if (i > 0 && '!#@&+=?|:;,^'.includes(value[i])) signs++;
    else if (value[i] === '.' || value[i] === '/') return false; // a name, a number, a path
  }
  if (!letters) return digits >= 6 && digits === value.length;
  if (technical.some((w) => lower(value).includes(w))) return false;
  return digits > 0 || signs > 0 || quoted && !value.includes(' ');
}

const technical = ('base58 base64 sha1 sha256 sha512 sha- md5 utf8 utf- argon2 pbkdf2 pkcs oauth2 bip39 ipv4 ipv6 x509 win32 nip- rfc 1password 256-bit 128-bit 2fa '
  + 'mp3 http2').split(' ');
