// The texts of proposals and of their answers (docs/proposals.md), written and read
// as internal/memory/proposals does it in Go. testdata/vectors/web-proposals.json holds both
// to it.
import { MAX_BODY } from './nipae/body.mjs';
import { validSlug } from './nipae/slug.mjs';
import { oneLine } from './text.mjs';
import { split } from './unit/parse.mjs';
import { scalar } from './unit/value.mjs';

/** @typedef {'write' | 'edit' | 'archive' | 'delete' | 'restore'} Act */
/** @typedef {{propose: Act, slug: string, base: string | null, version?: string | null, why?: string, vouch?: boolean, text?: string}} Form */
/** @typedef {{propose: Act, slug: string, base: string | null, version: string, why: string, vouch: boolean, text: string}} Said */
/** @typedef {{answer: 'accepted' | 'rejected', proposal: string, event: string, hash: string, reason: string}} Answered */

const MAX_WHY = 1024; // bytes; of a reason too
const acts = ['write', 'edit', 'archive', 'delete', 'restore'];

/** What cannot be proposed; its word is one of words.mjs. */
export class ProposalError extends Error {
  /** @param {string} word */
  constructor(word) {
    super(word);
    this.word = word;
  }
}

/** @param {string} s */
const size = (s) => new TextEncoder().encode(s).length;
/** @param {string} s @param {number} least */
const isHexPart = (s, least) => s.length >= least && s.length <= 64 && /^[0-9a-f]*$/.test(s);
/** @param {string} slug */
const reserved = (slug) => /^mem\/(?:sys|proposals|proposals-answers)\//.test(slug);

/**
 * What is wrong with what a proposal wants, "" if nothing is.
 * @param {Said} said
 */
function fault({ propose, slug, base, version, why, text }) {
  if (!validSlug(slug) || reserved(slug)) return 'bad-slug';
  if (base !== null && !isHexPart(base, 64)) return 'no-base';
  if (size(why) > MAX_WHY || size(text) > MAX_BODY) return 'too-large';
  if (!acts.includes(propose)) return 'no-proposal';
  if (propose !== 'restore' && version !== '') return 'no-version';
  if (propose === 'write' || propose === 'edit') {
    if (propose === 'edit' && text === '') return 'no-text';
    return propose === 'edit' && base === null ? 'no-base' : '';
  }
  if (text !== '') return 'no-text';
  if (propose === 'restore') return isHexPart(version, 8) ? '' : 'no-version';
  if (slug === 'core') return 'bad-slug';
  return base === null ? 'no-base' : '';
}

const yaml = ['true', 'false', 'yes', 'no', 'on', 'off', 'y', 'n', 'null'];

/** A scalar as front matter has it (nips/frontmatter): plain where every reader takes it for this text. @param {string} s */
export function written(s) {
  if (/^[A-Za-z][A-Za-z0-9./_-]*(?: [A-Za-z0-9./_-]+)*$/.test(s) && !yaml.includes(s.toLowerCase())) return s;
  const inside = s.replace(/["\\\n\t\p{Cc}\u2028\u2029\ufeff]/gu, (c) => {
    if (c === '"' || c === '\\') return `\\${c}`;
    if (c === '\n') return '\\n';
    return c === '\t' ? '\\t' : `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return `"${inside}"`;
}

/** The text of a proposal. A text to write is never empty. @param {Form} form @returns {string} */
export function textOf({ propose, slug, base, version, why, vouch, text = '' }) {
  const said = { propose, slug, base, version: version ?? '', why: oneLine(why ?? ''), vouch: vouch === true, text };
  const word = fault(said) || (propose === 'write' && text === '' ? 'no-text' : '');
  if (word) throw new ProposalError(word);
  const lines = [`propose: ${propose}`, `slug: ${written(slug)}`, `base: ${base === null ? 'none' : written(base)}`];
  if (said.version) lines.push(`version: ${written(said.version)}`);
  if (said.vouch) lines.push('vouch: true');
  if (said.why) lines.push(`why: ${written(said.why)}`);
  const whole = `---\n${lines.join('\n')}\n---\n${text}`;
  // A reason may be too long for front matter once it is quoted.
  if (!parseProposal(whole)) throw new ProposalError('too-large');
  return whole;
}

/**
 * The front matter of a text of ours; null if a key stands there twice, or one of
 * these is no scalar.
 * @param {string} text @param {string[]} keys
 */
function read(text, keys) {
  if (size(text) > MAX_BODY) return null;
  const { entries, body } = split(text);
  const found = new Map(entries.map((e) => [e.key, e.value]));
  if (found.size < entries.length || keys.some((k) => found.has(k) && scalar(found.get(k)) === null)) return null;
  return { body, word: (/** @type {string} */ key) => scalar(found.get(key)) ?? '' };
}

/** What a proposal's text says; null if it is none. @param {string} text @returns {Said | null} */
export function parseProposal(text) {
  const it = read(text, ['propose', 'slug', 'base', 'version', 'why', 'vouch']);
  if (!it) return null;
  const { body, word } = it;
  const has = split(text).entries.some((e) => e.key === 'vouch');
  if (has && word('vouch') !== 'true' && word('vouch') !== 'false') return null;
  const base = word('base') || 'none';
  const said = {
    propose: /** @type {Act} */ (word('propose')), slug: word('slug'), base: base === 'none' ? null : base, version: word('version'), why: oneLine(word('why')),
    vouch: word('vouch') === 'true', text: body,
  };
  return fault(said) ? null : said;
}

/** What an answer's text says; null if it is none. @param {string} text @returns {Answered | null} */
export function parseAnswer(text) {
  const it = read(text, ['answer', 'proposal', 'event', 'hash']);
  if (!it) return null;
  const { body: reason, word } = it;
  const answer = word('answer'), proposal = word('proposal'), event = word('event'), hash = word('hash');
  if (answer !== 'accepted' && answer !== 'rejected' || !isHexPart(proposal, 64)) return null;
  const accepted = answer === 'accepted';
  if (accepted !== (event !== '') || event && !isHexPart(event, 64) || hash && (!accepted || !isHexPart(hash, 64))) return null;
  return size(reason) > MAX_WHY ? null : { answer, proposal, event, hash, reason };
}
