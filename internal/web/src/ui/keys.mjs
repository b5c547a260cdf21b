// How a key is shown: as npub, shortened where it only names somebody.
import * as nip19 from 'nostr-tools/nip19';
import { button, h } from './dom.mjs';
import { W } from '../words.mjs';

/** @param {string} pubkey hex */
export function npub(pubkey) {
  try {
    return nip19.npubEncode(pubkey);
  } catch {
    return pubkey;
  }
}

/** @param {string} pubkey hex */
export function short(pubkey) {
  const full = npub(pubkey);
  return `${full.slice(0, 12)}…${full.slice(-6)}`;
}

/**
 * The key that a person wrote, in hex, or null.
 * @param {string} text npub or 64 hex digits
 * @returns {string | null}
 */
export function pubkeyOf(text) {
  const bare = text.trim().toLowerCase();
  if (/^[0-9a-f]{64}$/.test(bare)) return bare;
  try {
    const found = nip19.decode(bare);
    return found.type === 'npub' ? found.data : null;
  } catch {
    return null;
  }
}

/** What keys are called on this machine, in hex. @type {Map<string, string>} */
export const names = new Map();

/** @param {string} pubkey hex */
export const keyText = (pubkey) => h('span', { class: 'key', title: npub(pubkey) }, names.has(pubkey) ? `${names.get(pubkey)} ` : null, short(pubkey));

/**
 * A button that copies and says so, where the browser lets a page copy.
 * @param {string} text
 * @param {string} label
 */
export function copyButton(text, label = W.copy) {
  if (!navigator.clipboard) return null;
  const out = button(label, async () => {
    try {
      await navigator.clipboard.writeText(text);
      out.textContent = W.copied;
    } catch {
      out.textContent = W.notCopied;
    }
    setTimeout(() => { out.textContent = label; }, 1500);
  }, { class: 'quiet small' });
  return out;
}
