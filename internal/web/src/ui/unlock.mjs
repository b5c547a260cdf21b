// The owner's key from this machine. Who serves this page here hands it over once,
// encrypted, for a ticket: the browser was led here with one, or a person types it.
import { button, closed, fill, h } from './dom.mjs';
import { passwordField } from './secret.mjs';
import { holds } from './session.mjs';
import { bare } from './shell.mjs';
import { busy, errorText, note } from './states.mjs';
import { visible } from '../text.mjs';
import { W } from '../words.mjs';
import { pastedSigner } from '../signers/pasted.mjs';
import { start } from '../worker/start.mjs';

/** @typedef {import('../signers/nip07.mjs').Signer} Signer */
/**
 * @typedef {object} Handed
 * @property {string} ncryptsec
 * @property {string | null} agent of the profile, hex
 * @property {Map<string, string>} names what agents are called on this machine, by their keys in hex
 */

/** The longest name of an agent that is shown. */
const MOST_NAME = 64;

const isKey = (/** @type {unknown} */ text) => typeof text === 'string' && /^[0-9a-f]{64}$/.test(text);

/** The ticket in the page's address, which is without it from then on. @returns {string | null} */
export function takeTicket() {
  const ticket = /^#unlock=([A-Z2-7]{26})$/.exec(location.hash)?.[1] ?? null;
  if (ticket) history.replaceState(history.state, '', location.pathname);
  return ticket;
}

/** @param {string} ticket @returns {Promise<Handed | null>} null for one that was used, is too old, or is none */
async function claim(ticket) {
  try {
    const answer = await fetch('unlock', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ ticket }), cache: 'no-store', credentials: 'omit' });
    const got = answer.ok ? await answer.json() : {};
    if (typeof got.ncryptsec !== 'string') return null;
    const names = Object.entries(got.names ?? {}).filter(([key, name]) => isKey(key) && typeof name === 'string');
    return { ncryptsec: got.ncryptsec, agent: isKey(got.agent) ? got.agent : null, names: new Map(names.map(([key, name]) => [key, visible(String(name)).slice(0, MOST_NAME)])) };
  } catch {
    return null;
  }
}

/**
 * What is handed over: for the ticket that led here, else for a code that is typed.
 * @param {string | null} ticket
 * @param {() => void} back
 * @returns {Promise<Handed>}
 */
export async function handed(ticket, back) {
  const got = ticket && await claim(ticket);
  if (got) return got;
  return new Promise((done) => {
    const place = h('div', {}, ticket && note('warn', W.unlock.gone));
    const input = h('input', { id: 'code', type: 'text', ...closed, 'aria-describedby': 'code-hint', placeholder: 'XXXX-XXXX' });
    const hand = async () => {
      const code = input.value.toUpperCase().replace(/[^A-Z2-7]/g, '');
      input.value = '';
      if (code === '') return;
      const found = await claim(code);
      if (found) done(found);
      else fill(place, note('bad', W.unlock.gone));
    };
    input.addEventListener('keydown', (event) => { if (event.key === 'Enter') hand(); });
    bare('code', h('div', {}, h('h1', {}, W.ways.unlock.name),
      h('div', { class: 'field' }, h('label', { for: 'code' }, W.unlock.code), h('p', { class: 'hint', id: 'code-hint' }, W.unlock.codeHint), input), place,
      h('p', { class: 'actions' }, button(W.unlock.hand, hand, { class: 'main' }), button(W.back, back, { class: 'quiet' }))));
    input.focus();
  });
}

/**
 * The key, opened in the Worker by its password. Who gives it has confirmed the relays
 * that stand beside it.
 * @param {Handed} got
 * @param {string[]} relays
 * @param {{confirmed: () => void, back: () => void}} options confirmed: before the first password goes anywhere
 * @returns {Promise<Signer>}
 */
export function opened(got, relays, { confirmed, back }) {
  return new Promise((done) => {
    /** @type {ReturnType<typeof pastedSigner> | null} */
    let keys = null;
    const place = h('div');
    const password = passwordField(async (text) => {
      fill(place, busy(W.signin.password));
      try {
        if (!keys) {
          confirmed();
          const worker = holds(pastedSigner(start()));
          await worker.key(got.ncryptsec);
          keys = worker;
        }
        await keys.password(text);
        view.replaceChildren();
        done(keys.signer);
      } catch (error) {
        fill(place, note('bad', errorText(error)));
      }
    });
    const view = bare('unlock', h('div', {}, h('h1', {}, W.ways.unlock.name), h('p', { class: 'lead' }, W.unlock.what),
      h('ul', { class: 'plain cards' }, relays.map((relay) => h('li', { class: 'card address' }, visible(relay)))), h('p', { class: 'promise' }, W.relays.promise),
      password.node, place, h('p', { class: 'actions' }, button(W.unlock.open, password.hand, { class: 'main' }), button(W.unlock.other, back, { class: 'quiet' }))));
    password.input.focus();
  });
}
