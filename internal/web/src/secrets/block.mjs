// Private keys in PEM or PGP armour. The lines alone, as code has them that looks for
// keys, are none.
import { base64, placeholder } from './sets.mjs';

/** @typedef {import('./scan.mjs').Scanner} Scanner */
/** @typedef {import('./scan.mjs').Finding} Finding */

const BEGIN = '-----BEGIN ', END = '-----END ', DASHES = '-----';
const MAX_NAME = 64, MIN_RUN = 40, MAX_HEADER = 120;

/** @param {Scanner} s @param {number} at @returns {Finding | null} */
export function keyBlock(s, at) {
  if (!s.text.startsWith(BEGIN, at)) return null;
  const line = s.text.slice(at + BEGIN.length, at + BEGIN.length + MAX_NAME);
  const size = line.indexOf(DASHES);
  const name = line.slice(0, size);
  if (size < 0 || !/PRIVATE KEY(?: BLOCK)?$/.test(name)) return null;
  const begin = at + BEGIN.length + size + DASHES.length;
  const shut = blockEnd(s, begin, name);
  const end = shut < 0 ? cutOff(s, begin) : shut;
  return holdsKey(s, begin, end) ? { kind: 'private key block', start: at, end } : null;
}

/** Where the END line ends; -1 if the block has none. @param {Scanner} s @param {number} from @param {string} name */
function blockEnd(s, from, name) {
  if (s.noEnd) return -1;
  const i = s.text.indexOf(DASHES, from);
  if (i < 0) {
    s.noEnd = true;
    return -1;
  }
  return s.text.startsWith(END + name + DASHES, i) ? i + END.length + name.length + DASHES.length : -1;
}

/** Where a block without an END line ends: after its last line of base64. @param {Scanner} s @param {number} from */
function cutOff(s, from) {
  let end = from, headers = 0;
  for (let at = from; ;) {
    while (at < s.text.length && ' \t\r\n\\'.includes(s.text[at])) at += s.text[at] === '\\' ? 2 : 1; // an escape such as \n in JSON
    const stop = s.run(base64, Math.min(at, s.text.length));
    if (stop <= at) return end;
    const line = s.text.slice(at, at + MAX_HEADER);
    const colon = line.indexOf(': '), size = line.indexOf('\n');
    if (headers < 8 && (colon < 0 ? line.length : colon) < size) {
      headers++;
      at += size;
      continue;
    }
    end = at = stop;
  }
}

/** @param {Scanner} s @param {number} from @param {number} to */
function holdsKey(s, from, to) {
  for (let at = from; at < to;) {
    const end = s.run(base64, at);
    if (end - at >= MIN_RUN && !placeholder(s.text.slice(at, end))) return true;
    at = end + 1;
  }
  return false;
}
