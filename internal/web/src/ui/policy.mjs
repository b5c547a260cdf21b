// Narrows what this page may connect to, for good: a policy in a meta element is
// added to the one that the page was served with, and none can be taken away.
import { W } from '../words.mjs';

/** The most relays that one visit goes to, those of a bunker included. */
export const MOST_RELAYS = 16;

/** Hosts of this machine, where nothing goes over a network. */
export const loopback = (/** @type {string} */ host) =>
  host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);

export const fromDisk = () => location.protocol === 'file:';

/** Whether the page came from disk or from this machine. */
export const ownPage = () => fromDisk() || loopback(location.hostname);

/** Whether whoever sits in the network could have written this page. */
export const plainPage = () => location.protocol === 'http:' && !loopback(location.hostname);

/**
 * A relay's address as it is used and shown, or why it is none (a key of W.relayFault).
 * @param {string} text
 * @returns {{url: string} | {fault: keyof typeof W.relayFault}}
 */
export function relayURL(text) {
  let url;
  try {
    url = new URL(text.trim());
  } catch {
    return { fault: 'form' };
  }
  if (url.protocol !== 'ws:' && url.protocol !== 'wss:') return { fault: 'scheme' };
  if (url.hostname.startsWith('[')) return { fault: 'ip6' };
  if (/[*%]/.test(url.hostname)) return { fault: 'form' }; // a policy would take it for all hosts, or for none
  if (url.username || url.password || url.search || url.hash || text.length > 1024) return { fault: 'form' };
  if (location.protocol === 'https:' && url.protocol === 'ws:' && !loopback(url.hostname)) return { fault: 'tls' };
  const bare = url.href.replace(/\/$/, '');
  return /[\s;,'"]/.test(bare) ? { fault: 'form' } : { url: bare };
}

/**
 * The policy that names these relays and nothing else.
 * @param {string[]} relays ws and wss URLs
 */
export function connectPolicy(relays) {
  const sources = new Set();
  for (const relay of relays) {
    const { protocol, host } = new URL(relay);
    sources.add(`${protocol}//${host}`);
    sources.add(`${protocol === 'wss:' ? 'https:' : 'http:'}//${host}`);
  }
  return `connect-src ${[...sources].join(' ') || "'none'"}`;
}

/** @param {string[]} relays */
export function narrow(relays) {
  const meta = document.createElement('meta');
  meta.httpEquiv = 'Content-Security-Policy';
  meta.content = connectPolicy(relays);
  document.head.append(meta);
}
