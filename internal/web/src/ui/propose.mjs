// The forms of proposals. What is sent is shown before it is sent, and nothing is
// written by it: the agent decides.
import { button, closed, field, fill, h, tick } from './dom.mjs';
import { errorText, note } from './states.mjs';
import { diff } from './versions.mjs';
import { validSlug } from '../nipae/slug.mjs';
import { redact } from '../redact.mjs';
import { visible } from '../text.mjs';
import { W, reasonText } from '../words.mjs';

/** @typedef {import('./context.mjs').Context} Context */
/** @typedef {import('./reading.mjs').Entry} Entry */
/** @typedef {'write' | 'edit' | 'archive' | 'delete' | 'restore'} Kind */

/** The longest reason, and the longest text that the page sends, in bytes. */
const MOST_WHY = 1024;
const MOST_TEXT = 48 << 10;

/** @param {string} text */
const bytes = (text) => new TextEncoder().encode(text).length;

/**
 * @param {Context} ctx
 * @param {import('./reading.mjs').Reading} reading
 * @param {{kind: Kind, entry?: Entry, slug?: string, version?: string}} what
 * entry: whose text is there now; slug and version: of what is to be restored
 */
export function proposeForm(ctx, reading, { kind, entry, slug, version }) {
  const words = W.propose[kind];
  const target = entry?.slug ?? slug ?? '';
  const place = h('div', { 'aria-live': 'polite' });
  const name = h('input', { type: 'text', ...closed, placeholder: 'people/ana' });
  const text = h('textarea', { rows: '16', class: 'code', ...closed });
  text.value = kind === 'edit' ? entry?.text ?? '' : '';
  const why = h('input', { type: 'text', ...closed, maxlength: String(MOST_WHY) });
  const vouch = tick(W.propose.vouch, { hint: W.propose.vouchHint });
  const hasText = kind === 'write' || kind === 'edit';
  const whole = () => kind === 'write' ? wholeSlug(name.value) : target;
  const typed = () => asBefore(text.value, entry?.text ?? '');

  const review = () => {
    const fault = faultOf({ kind, slug: whole(), text: typed(), before: entry?.text ?? '', why: why.value, taken: kind === 'write' && (reading.at(whole())?.text ?? null) !== null });
    if (fault) {
      fill(place, note('warn', fault));
      return;
    }
    const secrets = hasText ? redact(typed()).count : 0;
    const send = button(W.propose.send, () => submit(send), { class: 'main', disabled: secrets > 0 });
    const sure = secrets > 0 ? tick(W.propose.secretSure, { change: (checked) => { send.disabled = !checked; } }).node : null;
    fill(place, h('section', { class: 'review' }, h('h3', {}, W.propose.review), h('p', {}, words.will, ' ', h('span', { class: 'slug' }, visible(whole()))),
      hasText && diff(entry?.text ?? '', typed()),
      vouch.input.checked && note('warn', W.propose.vouchHint),
      secrets > 0 && note('warn', W.propose.secret(secrets)), sure,
      h('p', { class: 'actions' }, send)));
    send.focus();
  };

  const submit = async (/** @type {HTMLButtonElement} */ send) => {
    send.disabled = true;
    send.textContent = W.propose.sending;
    try {
      const current = entry?.text ?? null;
      const base = kind === 'write' || current === null ? null : ctx.owner.baseOf(current);
      const sent = await ctx.owner.propose(reading.agent, {
        propose: kind, slug: whole(), base, version, why: why.value.trim() || undefined,
        vouch: vouchable(kind) && vouch.input.checked ? true : undefined, text: hasText ? typed() : undefined,
      });
      fill(node, ...result(ctx, reading, sent));
      node.querySelector('h2')?.focus();
    } catch (error) {
      send.disabled = false;
      send.textContent = W.propose.send;
      place.append(note('bad', errorText(error)));
    }
  };

  const node = h('section', { class: 'form', 'aria-labelledby': 'propose-heading' },
    h('h2', { id: 'propose-heading' }, words.heading), h('p', {}, words.what),
    kind === 'write' ? field(W.propose.slug, name, W.propose.slugHint) : h('p', {}, W.propose.about, ' ', h('span', { class: 'slug' }, visible(target))),
    hasText && field(W.propose.text, text, kind === 'edit' ? W.propose.editHint : W.propose.textHint),
    field(W.propose.why, why, W.propose.whyHint), vouchable(kind) && vouch.node,
    h('p', { class: 'actions' }, button(W.propose.next, review, { class: 'main' }), button(W.cancel, () => history.back(), { class: 'quiet' })), place);
  return node;
}

/**
 * What was typed, with the line ends of the text before: a field has one kind of them,
 * and nobody proposes to change them without a word.
 * @param {string} typed @param {string} before
 */
function asBefore(typed, before) {
  if (typed === before.replace(/\r\n?/g, '\n')) return before;
  return /\r\n/.test(before) && !/(?<!\r)\n|\r(?!\n)/.test(before) ? typed.replaceAll('\n', '\r\n') : typed;
}

/** @param {Kind} kind */
const vouchable = (kind) => kind === 'edit' || kind === 'archive' || kind === 'restore';

/** @param {string} text */
function wholeSlug(text) {
  const bare = text.trim();
  return bare === 'core' || bare.startsWith('mem/') ? bare : `mem/${bare}`;
}

/**
 * @param {{kind: Kind, slug: string, text: string, before: string, why: string, taken: boolean}} form
 * @returns {string} why it cannot be sent, or ""
 */
function faultOf({ kind, slug, text, before, why, taken }) {
  if (!validSlug(slug)) return W.propose.badSlug;
  if (/^mem\/(proposals|proposals-answers|sys)\//.test(slug)) return W.propose.reserved;
  if (taken) return W.propose.taken;
  if (kind === 'edit' && text === before) return W.propose.unchanged;
  if ((kind === 'write' || kind === 'edit') && text.trim() === '') return W.propose.noText;
  if (bytes(text) > MOST_TEXT) return W.propose.tooLong;
  if (bytes(why) > MOST_WHY || /[\r\n]/.test(why)) return W.propose.badWhy;
  return '';
}

/**
 * @param {Context} ctx
 * @param {import('./reading.mjs').Reading} reading
 * @param {{relays: {relay: string, ok: boolean, word?: string, message: string}[]}} sent
 */
function result(ctx, reading, sent) {
  const took = sent.relays.filter((relay) => relay.ok).length;
  const refused = sent.relays.filter((relay) => !relay.ok);
  return [
    h('h2', { tabindex: '-1', id: 'propose-heading' }, took > 0 ? W.propose.sent : W.propose.notSent),
    note(took > 0 ? 'good' : 'bad', took > 0 ? W.propose.took(took, sent.relays.length) : W.propose.tookNone),
    refused.length > 0 && h('ul', {}, refused.map((relay) => h('li', {}, `${visible(relay.relay)}: ${relay.word ? reasonText(relay.word) : W.propose.refused}${relay.message ? ` (${visible(relay.message.slice(0, 300))})` : ''}`))),
    h('p', { class: 'actions' }, button(W.propose.toList, () => ctx.go({ view: 'agent', agent: reading.agent, part: 'proposals' }), { class: 'main' }),
      button(W.memory.back, () => ctx.go({ view: 'agent', agent: reading.agent, part: 'memories' }), { class: 'quiet' })),
  ];
}
