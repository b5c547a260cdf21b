// Texts as a person may be shown them: what turns the direction of writing, or
// shows nothing of its own, is shown by its number (nips/unit, Hidden).

const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u{e0100}-\u{e01ef}]/gu;
const joiner = (/** @type {string} */ c) => c === '\u200c' || c === '\u200d';
const code = (/** @type {string} */ c) => `⟨U+${/** @type {number} */ (c.codePointAt(0)).toString(16).toUpperCase().padStart(4, '0')}⟩`;

/** A text with what hides in it shown; line ends and tabs stay. @param {string} text */
export const visible = text => text.replace(HIDDEN, c => (c === '\n' || c === '\t' || joiner(c) ? c : code(c)));

/** One blank for each run of blanks, without what is hidden. @param {string} text */
export const oneLine = text => text.replace(HIDDEN, c => (joiner(c) ? c : /\p{Cc}/u.test(c) ? ' ' : '')).replace(/\s+/gu, ' ').trim();

/** A text without the blanks around it, as Go takes them: U+0085 is one, U+FEFF is none. @param {string} text */
export function trim(text) {
  let from = 0, to = text.length;
  while (from < to && blank(text.charCodeAt(from))) from++;
  while (to > from && blank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

/** @param {number} c */
const blank = c => c === 0x20 || c >= 9 && c <= 13 || c === 0x85 || c === 0xa0 || c === 0x1680 || c >= 0x2000 && c <= 0x200a
  || c === 0x2028 || c === 0x2029 || c === 0x202f || c === 0x205f || c === 0x3000;
