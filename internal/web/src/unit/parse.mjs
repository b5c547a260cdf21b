// What a memory says of itself: the front matter at the top of its text, read as
// nips/frontmatter does it in Go. It never fails: what is no front matter is body.
import { trim } from '../text.mjs';
import { parseBlock, parseInline } from './value.mjs';

/** @typedef {import('./value.mjs').Value} Value */
/** @typedef {{key: string, value: Value}} Entry */

const MAX_HEAD = 4096; // bytes; the closing line ends within it
const FENCE = '---';

/**
 * @param {string} text
 * @returns {{entries: Entry[], body: string, hasHead: boolean}}
 */
export function split(text) {
  const head = findHead(text);
  if (!head) return { entries: [], body: text, hasHead: false };
  /** @type {Entry[]} */
  const entries = [];
  const lines = text.slice(head.open, head.shut);
  for (let at = 0; at < lines.length;) {
    const { entry, next } = nextEntry(lines, at);
    if (entry) entries.push(entry);
    at = next;
  }
  return { entries, body: text.slice(head.body), hasHead: true };
}

/** @param {string} text */
function findHead(text) {
  const first = lineAt(text, 0);
  if (first.line !== FENCE || first.next >= text.length || !keyOf(lineAt(text, first.next).line)) return null;
  let bytes = size(text.slice(0, first.next));
  for (let at = first.next; at < text.length && bytes + FENCE.length <= MAX_HEAD;) {
    const { line, next } = lineAt(text, at);
    if (line === FENCE) return { open: first.next, shut: at, body: next };
    bytes += size(text.slice(at, Math.min(next, at + MAX_HEAD + 1)));
    at = next;
  }
  return null;
}

const encoder = new TextEncoder();
/** @param {string} s */
const size = s => encoder.encode(s).length;

/**
 * The line that begins at a place, without its end, and where the next begins.
 * @param {string} text @param {number} at
 */
export function lineAt(text, at) {
  const end = text.indexOf('\n', at);
  const stop = end < 0 ? text.length : end;
  return { line: text.slice(at, text[stop - 1] === '\r' && stop > at ? stop - 1 : stop), next: end < 0 ? text.length : end + 1 };
}

/** The key that a line begins with, "" if none. @param {string} line */
export const keyOf = line => /^([A-Za-z_][A-Za-z0-9_-]{0,63}):(?=[ \t]|$)/.exec(line)?.[1] ?? '';

/** @param {string} line */
export const isItem = line => line === '-' || line.startsWith('- ');

/** @param {string} text of the head @param {number} at */
function nextEntry(text, at) {
  const { line, next } = lineAt(text, at);
  const key = keyOf(line);
  if (!key) return { entry: null, next };
  const rest = trim(line.slice(key.length + 1));
  const end = continued(text, next, rest === '');
  const below = text.slice(next, end);
  /** @type {Value} */
  const value = below === '' ? parseInline(rest) : rest ? { scalar: rest } : parseBlock(below);
  return { entry: { key, value }, next: end };
}

/**
 * Where the lines end that belong to the key above.
 * @param {string} text @param {number} at @param {boolean} items whether items of a list do
 */
function continued(text, at, items) {
  let end = at;
  while (at < text.length) {
    const { line, next } = lineAt(text, at);
    if (trim(line) !== '') { // a blank line counts if an indented one follows
      if (line[0] !== ' ' && line[0] !== '\t' && !(items && isItem(line))) return end;
      end = next;
    }
    at = next;
  }
  return end;
}
