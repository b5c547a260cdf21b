// Search over texts that are open: case and accents do not matter, every word of
// the question must begin a word of the text.

/** @param {string} text folded: lower case, without accents */
export const fold = text => text.normalize('NFD').replace(/\p{M}+/gu, '').toLowerCase();

/** The words of a question, 16 at most. @param {string} question */
export const words = question => [...new Set(fold(question).match(/[\p{L}\p{N}]+/gu) ?? [])].slice(0, 16);

/** What matches looks at, for a text. @param {string} text */
export const index = text => ` ${(fold(text).match(/[\p{L}\p{N}]+/gu) ?? []).join(' ')} `;

/** Whether all words begin one of the text. @param {string} indexed @param {string[]} asked */
export const matches = (indexed, asked) => asked.every(word => indexed.includes(` ${word}`));
