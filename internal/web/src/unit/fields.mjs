// The fields of a memory, with the defaults for what its text does not say
// (nips/frontmatter, Fields).
import { references } from '../nipae/references.mjs';
import { oneLine, trim } from '../text.mjs';
import { split } from './parse.mjs';
import { items, scalar } from './value.mjs';

/** @typedef {import('./value.mjs').Value} Value */

const types = ['episodic', 'semantic', 'procedural', 'insight', 'prospective', 'narrative'];
const states = ['active', 'archived', 'superseded', 'done'];
const trusts = ['external', 'derived', 'observed', 'told']; // the least first

/**
 * @typedef {object} Unit
 * @property {[string, Value][]} fields in order, a repeated key as often as it stands there
 * @property {string} type @property {string} state @property {string} trust
 * @property {string[]} tags
 * @property {string} description @property {string} title for a list; "" if it says nothing
 * @property {string} source @property {string} created
 * @property {boolean} hasHead
 * @property {string} body
 * @property {string[]} links slugs in [[…]], each once
 */

/** @param {string} text @returns {Unit} */
export function parse(text) {
  const { entries, body, hasHead } = split(text);
  const first = (/** @type {string} */ key) => entries.find(e => e.key === key)?.value;
  const word = (/** @type {string} */ key) => scalar(first(key)) ?? '';
  return {
    fields: entries.map(e => [e.key, e.value]),
    type: oneOf(types, word('type'), 'semantic'),
    state: oneOf(states, word('state'), 'active'),
    trust: trustOf(entries.filter(e => e.key === 'trust').map(e => e.value)),
    tags: items(first('tags')),
    description: word('description'),
    title: heading([word('description'), word('title')], body),
    source: word('source'),
    created: word('created'),
    hasHead,
    body,
    links: references(text),
  };
}

/** @param {string[]} set @param {string} word @param {string} otherwise */
const oneOf = (set, word, otherwise) => (set.includes(word) ? word : otherwise);

/** The lowest that is said; what cannot be read is external. @param {Value[]} values */
function trustOf(values) {
  if (!values.length) return 'observed';
  return trusts[Math.min(...values.map(v => Math.max(0, trusts.indexOf(scalar(v) ?? ''))))];
}

/** @param {string[]} said @param {string} body */
function heading(said, body) {
  for (const s of said) {
    const line = oneLine(s);
    if (says(line)) return cut(line);
  }
  for (let at = 0; at < body.length;) {
    const end = body.indexOf('\n', at);
    const stop = end < 0 ? body.length : end;
    const line = oneLine(trim(body.slice(at, Math.min(stop, at + 4000))).replace(/^#+/, ''));
    if (says(line)) return cut(line);
    at = stop + 1;
  }
  return '';
}

/** @param {string} line */
const says = line => /[\p{L}\p{Nd}\p{So}]/u.test(line);

const MOST = 120;
/** @param {string} s */
const cut = s => { const all = [...s]; return all.length > MOST ? all.slice(0, MOST).join('') + '…' : s; };
