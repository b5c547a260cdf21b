// The values of front matter: a scalar, a flat list or a flat mapping.
import { trim } from '../text.mjs';
import { isItem, keyOf, lineAt } from './parse.mjs';

/** @typedef {{scalar?: string, list?: string[], pairs?: [string, string][]}} Value */

/** @param {Value | undefined} v @returns {string | null} null if it is none */
export const scalar = v => v?.scalar ?? null;

/** The items of a list; a scalar that says something is a list of one. @param {Value | undefined} v */
export const items = v => (v?.scalar ? [v.scalar] : v?.list ?? []).filter(s => s !== '');

/**
 * What stands behind a key on its line.
 * @param {string} rest @returns {Value}
 */
export function parseInline(rest) {
  if (rest[0] === '[') {
    const list = parseFlow(rest, ']', flowItem);
    if (list) return { list };
  } else if (rest[0] === '{') {
    const pairs = parseFlow(rest, '}', flowPair);
    if (pairs) return { pairs };
  }
  return { scalar: scalarOf(rest) };
}

/** @param {string} s */
function scalarOf(s) {
  const q = quoted(s);
  return q && q.rest === '' ? q.value : s;
}

/** @typedef {{value: string, rest: string}} Read */

/** @param {string} s @returns {Read | null} */
function quoted(s) {
  if (s[0] === "'") {
    const m = /^'((?:[^']|'')*)'(?!')/.exec(s);
    return m && { value: m[1].replaceAll("''", "'"), rest: s.slice(m[0].length) };
  }
  return s[0] === '"' ? doubleQuoted(s) : null;
}

const escapes = new Map([['"', '"'], ['\\', '\\'], ['/', '/'], ['n', '\n'], ['t', '\t'], ['r', '\r'], ['0', '\0']]);
const digits = new Map([['x', 2], ['u', 4], ['U', 8]]);

/** @param {string} s @returns {Read | null} */
function doubleQuoted(s) {
  let out = '';
  for (let i = 1; i < s.length; i++) {
    if (s[i] === '"') return { value: out, rest: s.slice(i + 1) };
    if (s[i] !== '\\') { out += s[i]; continue; }
    const c = s[++i];
    const n = digits.get(c);
    if (n) {
      const code = s.slice(i + 1, i + 1 + n);
      if (code.length < n || !/^[0-9a-fA-F]+$/.test(code)) return null;
      const point = parseInt(code, 16);
      if (point > 0x10ffff || point >= 0xd800 && point <= 0xdfff) return null;
      out += String.fromCodePoint(point);
      i += n;
    } else if (escapes.has(c)) {
      out += escapes.get(c);
    } else {
      return null;
    }
  }
  return null;
}

/**
 * [a, b] or {a: 1}: the bracket's end must be that of the line.
 * @template T
 * @param {string} s @param {string} end @param {(s: string) => {value: T, rest: string} | null} one
 * @returns {T[] | null}
 */
function parseFlow(s, end, one) {
  /** @type {T[]} */
  const all = [];
  s = left(s.slice(1));
  while (s && s[0] !== end) {
    const read = one(s);
    if (!read) return null;
    const rest = left(read.rest);
    if (rest === '' || rest[0] !== end && rest[0] !== ',') return null;
    all.push(read.value);
    s = rest[0] === ',' ? left(rest.slice(1)) : rest;
  }
  return s === end ? all : null;
}

/** @param {string} s */
const left = s => s.replace(/^[ \t]+/, '');
/** @param {string} s */
const right = s => s.replace(/[ \t]+$/, '');

/** @param {string} s @returns {Read | null} */
function flowItem(s) {
  if (s[0] === '"' || s[0] === "'") return quoted(s);
  const i = s.search(/[,[\]{}]/);
  return i > 0 && (s[i] === ',' || s[i] === ']') ? { value: right(s.slice(0, i)), rest: s.slice(i) } : null;
}

/** @param {string} s @returns {{value: [string, string], rest: string} | null} */
function flowPair(s) {
  const key = /^([A-Za-z_][A-Za-z0-9_-]{0,63}):/.exec(s)?.[1];
  if (!key) return null;
  s = left(s.slice(key.length + 1));
  if (s[0] === '"' || s[0] === "'") {
    const q = quoted(s);
    return q && { value: [key, q.value], rest: q.rest };
  }
  const i = s.search(/[,[\]{}]/);
  return i >= 0 && (s[i] === ',' || s[i] === '}') ? { value: [key, right(s.slice(0, i))], rest: s.slice(i) } : null;
}

/**
 * The lines below a key.
 * @param {string} lines @returns {Value}
 */
export function parseBlock(lines) {
  /** @type {Value | null} */
  let v = null;
  let depth = -1;
  for (let at = 0; at < lines.length;) {
    const { line, next } = lineAt(lines, at);
    at = next;
    const content = trim(line);
    if (content === '') continue;
    const indent = line.length - left(line).length;
    if (!v) {
      depth = indent;
      v = isItem(content) ? { list: [] } : { pairs: [] };
    }
    const key = keyOf(content);
    if (v.list && indent === depth && isItem(content)) v.list.push(scalarOf(trim(content.slice(1))));
    else if (v.pairs && indent === depth && key) v.pairs.push([key, scalarOf(trim(content.slice(key.length + 1)))]);
    else if (!(v.pairs?.length && indent > depth)) return { scalar: '' };
  }
  return v ?? { scalar: '' };
}
