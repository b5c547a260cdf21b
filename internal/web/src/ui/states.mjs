// What is known, what is not, and why, in the four words.
import { button, fill, h, nodes } from './dom.mjs';
import { W, knownText, reasonText } from '../words.mjs';
import { visible } from '../text.mjs';

/** @typedef {import('../owner/known.mjs').Known} Known */

/** The most relays whose faults are listed. */
const MOST_DETAILS = 20;

/**
 * A line that says how many there are, as far as that is known.
 * @param {readonly [string, string]} nouns one, many
 */
export function knownLine(nouns) {
  const text = h('span');
  const why = h('ul', { class: 'plain' });
  const details = h('details', { class: 'why', hidden: true }, h('summary', {}, W.known.why), why);
  const node = h('div', { class: 'known' }, text, details);
  let before = '';
  return {
    node,
    /** @param {Known} known @param {number} [unreadable] how many of them are */
    show(known, unreadable) {
      const line = knownText(known, nouns, unreadable);
      const reasons = known.details.slice(0, MOST_DETAILS).map((d) => detail(d.relay, d.reason));
      const now = [line, ...reasons].join('\n');
      if (now === before) return;
      before = now;
      text.textContent = line;
      node.dataset.state = known.why[0] ?? 'exact';
      details.hidden = reasons.length === 0;
      fill(why, reasons.map((reason) => h('li', {}, reason)));
    },
  };
}

/** @param {string} relay @param {string} reason */
const detail = (relay, reason) => relay ? `${visible(relay)}: ${reasonText(reason)}` : reasonText(reason);

/**
 * What a failure is called: by its word, never by what somebody else wrote.
 * @param {unknown} error
 */
export function errorText(error) {
  const { word, relay } = /** @type {{word?: unknown, relay?: unknown}} */ (error ?? {});
  const text = reasonText(typeof word === 'string' ? word : 'unknown');
  return typeof relay === 'string' ? `${visible(relay)}: ${text}` : text;
}

/**
 * A note about something that went wrong, or that the owner should know.
 * @param {'bad' | 'warn' | 'good' | 'info'} kind
 * @param {...import('./dom.mjs').Child} children
 */
export const note = (kind, ...children) => h('div', { class: `note note-${kind}`, role: kind === 'bad' ? 'alert' : null }, h('p', {}, ...children));

/** @param {string} text */
export const busy = (text) => h('p', { class: 'busy' }, text);

/**
 * A part of a view that something is fetched for, with its three states.
 * @template T
 * @param {HTMLElement} place
 * @param {() => Promise<T>} fetch
 * @param {(got: T) => import('./dom.mjs').Child | import('./dom.mjs').Child[]} show
 * @param {{loading?: string, signal?: AbortSignal}} [options]
 */
export async function fetched(place, fetch, show, { loading = W.loading, signal } = {}) {
  fill(place, busy(loading));
  place.setAttribute('aria-busy', 'true');
  try {
    const got = await fetch();
    if (signal?.aborted) return;
    const wanted = nodes([show(got)].flat());
    // What was shown while it was fetched stays as it stands, with the focus in it.
    if (wanted.some((node) => !(node instanceof Node) || node.parentNode !== place)) place.replaceChildren(...wanted);
  } catch (error) {
    if (signal?.aborted) return;
    fill(place, note('bad', errorText(error)), button(W.again, () => fetched(place, fetch, show, { loading, signal })));
  } finally {
    place.removeAttribute('aria-busy');
  }
}
