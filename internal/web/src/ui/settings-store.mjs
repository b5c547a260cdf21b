// The few things that stay in the browser, and only where the page was served: from
// disk nothing is stored. No key, no text, no slug is ever among them.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { fromDisk } from './policy.mjs';

const NAME = 'engramd-page';

/**
 * @typedef {{sys: boolean, visits: boolean, last: Record<string, number>, relays: string[]}} Settings
 * sys: show mem/sys/; visits: the owner lets the page keep when he was here; last: that
 * time, in seconds, by a hash of the key; relays: named by the owner.
 */

/** The most keys of which a last visit is kept. */
const MOST_VISITS = 16;

export const canStore = () => !fromDisk();

/** @returns {Settings} */
export function load() {
  /** @type {Settings} */
  const settings = { sys: false, visits: false, last: {}, relays: [] };
  if (!canStore()) return settings;
  try {
    const found = JSON.parse(localStorage.getItem(NAME) ?? '{}');
    settings.sys = found.sys === true;
    settings.visits = found.visits === true;
    if (Array.isArray(found.relays)) settings.relays = found.relays.filter((/** @type {unknown} */ r) => typeof r === 'string').slice(0, 16);
    for (const [key, time] of Object.entries(found.last ?? {}).slice(0, MOST_VISITS)) {
      if (/^[0-9a-f]{32}$/.test(key) && Number.isSafeInteger(time)) settings.last[key] = /** @type {number} */ (time);
    }
  } catch {
    // Storage may be switched off, or hold what another page of this origin wrote.
  }
  return settings;
}

/** @param {Settings} settings */
export function save(settings) {
  if (!canStore()) return;
  const last = Object.fromEntries(Object.entries(settings.visits ? settings.last : {}).sort((a, b) => b[1] - a[1]).slice(0, MOST_VISITS));
  try {
    localStorage.setItem(NAME, JSON.stringify({ ...settings, last }));
  } catch {
    // As above: then this visit has its settings, and the next does not.
  }
}

/** Forgets all of it. */
export function forget() {
  try {
    localStorage.removeItem(NAME);
  } catch {
    // There is nothing where nothing can be stored.
  }
}

/**
 * Under which name a visit is kept: of the reader and the agent, which it does not tell.
 * @param {string} owner hex
 * @param {string} agent hex
 */
export const visitName = (owner, agent) => bytesToHex(sha256(utf8ToBytes(`engramd/page/visit/v1:${owner}:${agent}`))).slice(0, 32);
