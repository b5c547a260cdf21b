// A field that takes a secret and never holds it: what is pasted is handed on, and the
// default that would write it into the page is prevented.
import { closed, h } from './dom.mjs';
import { note } from './states.mjs';
import { W } from '../words.mjs';

/** The longest secret that is handed on; a bunker's link with some relays is below it. */
const MOST = 4096;

/** A key that somebody may be talked into pasting where it does not belong. */
const KEY = /n(?:sec|cryptsec)1[02-9ac-hj-np-z]{30}/i;

/** Keeps keys out of all other fields: a memory may ask for one, and beside it are fields. */
export function guardKeys() {
  document.addEventListener('paste', (event) => {
    const field = event.target;
    if (!(field instanceof HTMLElement) || 'secret' in field.dataset || !KEY.test(event.clipboardData?.getData('text/plain') ?? '')) return;
    event.preventDefault();
    const told = note('bad', W.key.elsewhere), place = field.closest('.field');
    place?.querySelector('.note')?.remove();
    place?.append(told);
    field.addEventListener('input', () => told.remove(), { once: true });
  }, { capture: true });
}

/**
 * @param {string} label
 * @param {string} hint
 * @param {(text: string) => void} take
 */
export function secretField(label, hint, take) {
  const told = h('p', { class: 'hint', id: 'secret-hint' }, hint);
  const input = h('input', { id: 'secret', type: 'text', ...closed, 'aria-describedby': 'secret-hint', 'data-secret': true, placeholder: W.key.placeholder });
  const hand = (/** @type {string | null | undefined} */ text) => {
    input.value = '';
    const bare = (text ?? '').trim();
    if (bare !== '' && bare.length <= MOST) take(bare);
  };
  input.addEventListener('paste', (event) => {
    event.preventDefault();
    hand(event.clipboardData?.getData('text/plain'));
  });
  input.addEventListener('drop', (event) => {
    event.preventDefault();
    hand(event.dataTransfer?.getData('text/plain'));
  });
  input.addEventListener('beforeinput', (event) => {
    if (event.inputType.startsWith('delete')) return;
    event.preventDefault();
    const text = event.data ?? event.dataTransfer?.getData('text/plain') ?? '';
    // A key is pasted. One letter at a time it would have to stand somewhere until it is whole.
    if (text.length > 8) hand(text);
    else told.textContent = W.key.pasteOnly;
  });
  // What sets the value without asking (a program that fills fields in) has it taken away at once.
  input.addEventListener('input', () => hand(input.value));
  return { node: h('div', { class: 'field' }, h('label', { for: 'secret' }, label), told, input), input };
}

/**
 * A password, outside any form; it is handed on once, and the field is empty then.
 * @param {(password: string) => void} take
 */
export function passwordField(take) {
  const input = h('input', { id: 'password', type: 'password', ...closed, 'data-secret': true });
  const hand = () => {
    const text = input.value;
    input.value = '';
    if (text !== '') take(text);
  };
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') hand();
  });
  return {
    input,
    node: h('div', { class: 'field' }, h('label', { for: 'password' }, W.key.password), input),
    hand,
  };
}
