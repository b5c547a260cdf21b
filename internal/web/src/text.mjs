// Texts as a person may be shown them: what turns the direction of writing, or
// shows nothing of its own, is shown by its number (nips/frontmatter, Hidden).

// What shapes letters or belongs to an emoji stays where it does so (Visible). The
// ranges are those of nips/frontmatter: testdata/vectors/web-units.json has them.
const PICTOGRAPHS = '\\u{a9}\\u{ae}\\u{203c}\\u{2049}\\u{2122}\\u{2139}\\u{2194}-\\u{21aa}\\u{231a}-\\u{23ff}\\u{24c2}\\u{25a0}-\\u{27bf}\\u{2934}\\u{2935}\\u{2b05}-\\u{2b55}\\u{3030}\\u{303d}\\u{3297}\\u{3299}\\u{1f000}-\\u{1f0ff}\\u{1f170}-\\u{1f1e5}\\u{1f201}-\\u{1faff}';
const JOINING = '\\u{620}-\\u{7ff}\\u{840}-\\u{109f}\\u{1780}-\\u{18af}\\u{1a20}-\\u{1c4f}\\u{a800}-\\u{a82f}\\u{a840}-\\u{a8ff}\\u{a930}-\\u{a9ff}\\u{aa00}-\\u{aadf}\\u{aae0}-\\u{abff}\\u{fb50}-\\u{fdff}\\u{fe70}-\\u{fefc}\\u{10a00}-\\u{10fff}\\u{11000}-\\u{11fff}\\u{1e900}-\\u{1e95f}';
const EMOJI = `[${PICTOGRAPHS}][\\ufe0e\\ufe0f\\u{1f3fb}-\\u{1f3ff}]?`;
const FLAG = '\\u{1f3f4}\\u{e0067}\\u{e0062}(?:\\u{e0065}\\u{e006e}\\u{e0067}|\\u{e0073}\\u{e0063}\\u{e0074}|\\u{e0077}\\u{e006c}\\u{e0073})\\u{e007f}';
const HIDDEN = new RegExp(`${FLAG}|[0-9#*]\\ufe0f\\u20e3|${EMOJI}(?:\\u200d${EMOJI})*|(?<=[${JOINING}])[\\u200c\\u200d](?=[${JOINING}])`
  + '|([\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}])', 'gu');
const code = (/** @type {string} */ c) => `⟨U+${/** @type {number} */ (c.codePointAt(0)).toString(16).toUpperCase().padStart(4, '0')}⟩`;

/** A text with what hides in it shown; line ends and tabs stay. @param {string} text */
export const visible = text => text.replace(HIDDEN, (all, c) => (!c || c === '\n' || c === '\t' ? all : code(c)));

/** One blank for each run of blanks, without what is hidden. @param {string} text */
export const oneLine = text => text.replace(/\p{Cc}/gu, ' ').replace(HIDDEN, (all, c) => (c ? '' : all)).replace(/\s+/gu, ' ').trim();

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
