// One engram as the page shows it: an event, and once it is opened what it says.
import { parse } from '../unit/fields.mjs';

/** @typedef {import('../nostr/event.mjs').NostrEvent} NostrEvent */
/** @typedef {import('../signers/nip07.mjs').Result} Result */
/** @typedef {import('../signers/nip07.mjs').Signer} Signer */
/**
 * @typedef {object} Entry
 * @property {NostrEvent} event
 * @property {string[]} relays that have it
 * @property {string | null} slug null while it is not opened, and where it cannot be
 * @property {string | null} text null also of a removal
 * @property {import('../unit/fields.mjs').Unit | null} unit
 * @property {'ok' | 'wrong' | 'unchecked'} address whether the slug belongs there
 * @property {'ok' | 'unchecked'} utf8
 * @property {boolean} conflict another address claims the same slug
 * @property {string | null} unreadable why, a word of words.mjs
 * @property {Record<string, unknown> | null} members what else its body has
 */

/** @param {NostrEvent} event @param {string[]} relays @returns {Entry} */
export const unopened = (event, relays) => ({
  event, relays, slug: null, text: null, unit: null, address: 'unchecked', utf8: 'unchecked', conflict: false, unreadable: null, members: null,
});

/** Puts in what an event says. @param {Entry} entry @param {Result} result @param {Signer} signer */
export function opened(entry, result, signer) {
  if ('unreadable' in result) {
    entry.unreadable = result.unreadable;
    if (result.unreadable === 'wrong-address') entry.address = 'wrong';
    return;
  }
  entry.slug = result.slug;
  entry.text = result.text;
  entry.members = result.members;
  entry.address = result.addressOk ? 'ok' : 'unchecked';
  entry.utf8 = signer.canCheckUtf8 ? 'ok' : 'unchecked';
  entry.unit = result.text === null || result.slug === 'core' ? null : parse(result.text);
}
