// The owner names the relays of this visit. Nothing is asked of any before that, and
// afterwards the page can reach no other.
import { button, closed, fill, h, tick } from './dom.mjs';
import { MOST_RELAYS, fromDisk, loopback, relayURL } from './policy.mjs';
import { bare } from './shell.mjs';
import { note } from './states.mjs';
import { W } from '../words.mjs';
import { visible } from '../text.mjs';

/** The most that relay.json may hold. */
const MOST_JSON = 16 << 10;

/**
 * What stands beside the page: relays, and whether who serves it hands the owner's key over.
 * @returns {Promise<{urls: string[], unlock: boolean}>}
 */
export async function servedBeside() {
  const nothing = { urls: [], unlock: false };
  if (fromDisk()) return nothing;
  try {
    const answer = await fetch('relay.json', { cache: 'no-cache', credentials: 'omit' });
    const text = answer.ok ? await answer.text() : '{}';
    const { urls, unlock } = text.length <= MOST_JSON ? JSON.parse(text) : nothing;
    return { urls: Array.isArray(urls) ? urls.filter((url) => typeof url === 'string').slice(0, MOST_RELAYS) : [], unlock: unlock === true };
  } catch {
    return nothing;
  }
}

/**
 * @param {{served: string[], named: string[], bunker: string[], back: () => void}} options
 * served: beside the page; named: by the owner, in an earlier visit; bunker: in its link.
 * @returns {Promise<string[]>} the relays to read from
 */
export function confirmRelays({ served, named, bunker, back }) {
  return new Promise((done) => {
    /** @type {Map<string, HTMLInputElement>} */
    const ticks = new Map();
    const list = h('div', { class: 'relays', role: 'group', 'aria-labelledby': 'relays-heading' });
    const place = h('div', { 'aria-live': 'polite' });
    const add = (/** @type {string} */ text, /** @type {string} */ hint) => {
      const read = relayURL(text);
      if ('fault' in read) {
        fill(place, note('warn', `${visible(text).slice(0, 200)}: ${W.relayFault[read.fault]}`));
        return false;
      }
      if (!ticks.has(read.url)) {
        const { node, input } = tick(visible(read.url), { checked: true, hint });
        ticks.set(read.url, input);
        list.append(node);
      }
      return true;
    };
    for (const url of served) add(url, W.relays.served);
    for (const url of named) add(url, W.relays.named);
    const other = h('input', { id: 'other', type: 'url', ...closed, inputmode: 'url', placeholder: 'wss://' });
    const addOther = () => {
      if (other.value.trim() === '') return true;
      const good = add(other.value, W.relays.yours);
      if (good) {
        const near = fromDisk() && loopback(new URL(other.value.trim()).hostname);
        other.value = '';
        fill(place, near && note('warn', W.relays.fromDisk));
      }
      return good;
    };
    other.addEventListener('keydown', (event) => { if (event.key === 'Enter') addOther(); });
    const confirm = () => {
      if (!addOther()) return;
      const chosen = [...ticks].filter(([, input]) => input.checked).map(([url]) => url);
      if (chosen.length === 0) fill(place, note('warn', W.relays.none));
      else if (new Set([...chosen, ...bunker]).size > MOST_RELAYS) fill(place, note('warn', W.relays.tooMany(MOST_RELAYS)));
      else done(chosen);
    };
    bare('relays', h('div', {}, h('h1', { id: 'relays-heading' }, W.relays.heading), h('p', { class: 'lead' }, W.relays.what), list,
      h('div', { class: 'field' }, h('label', { for: 'other' }, W.relays.other), h('div', { class: 'beside' }, other, button(W.relays.add, addOther))),
      bunker.length > 0 && h('p', {}, W.relays.bunker, ' ', h('span', { class: 'address' }, bunker.map(visible).join(', '))),
      place, h('p', { class: 'promise' }, W.relays.promise),
      h('p', { class: 'actions' }, button(W.relays.confirm, confirm, { class: 'main' }), button(W.back, back, { class: 'quiet' }))));
  });
}
