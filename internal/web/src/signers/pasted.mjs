// A key that was pasted: it lives in the Worker, and what is here asks the Worker.
/** @typedef {import('./nip07.mjs').Signer} Signer */
/** @typedef {import('../nostr/event.mjs').NostrEvent} NostrEvent */
import { SignerError } from './nip07.mjs';

const CHUNK = 20, CHUNK_SIZE = 128 << 10; // events and characters opened at once: others' questions come between

/** Some of events from one on, at least that one. @param {NostrEvent[]} events @param {number} from */
function chunk(events, from) {
  let to = from + 1;
  for (let size = events[from].content.length; to < events.length && to < from + CHUNK; to++) {
    size += events[to].content.length;
    if (size > CHUNK_SIZE) break;
  }
  return events.slice(from, to);
}

/** @param {Worker} worker */
export function pastedSigner(worker) {
  /** @type {Map<number, {resolve: (value: any) => void, reject: (error: Error) => void}>} */
  const asked = new Map();
  let number = 0, ended = false;
  worker.onmessage = ({ data }) => {
    const waits = asked.get(data.n);
    asked.delete(data.n);
    if ('word' in data) waits?.reject(new SignerError(data.word));
    else waits?.resolve(data.ok);
  };
  const close = () => {
    ended = true;
    worker.terminate();
    for (const { reject } of asked.values()) reject(new SignerError('logged-out'));
    asked.clear();
  };
  worker.onerror = () => close();
  /** @param {string} op @param {object} more @returns {Promise<any>} */
  const ask = (op, more) => new Promise((resolve, reject) => {
    if (ended) {
      reject(new SignerError('logged-out'));
      return;
    }
    asked.set(++number, { resolve, reject });
    worker.postMessage({ n: number, op, ...more });
  });
  /** @type {Signer} */
  const signer = {
    kind: 'pasted', pubkey: '', canCheckAddress: true, canCheckUtf8: true, close,
    sign: (template) => ask('sign', { template }),
    propose: (proposal) => ask('proposal', { proposal }),
    async open(events, { peer, signal, onOpened }) {
      for (let i = 0, part; i < events.length; i += part.length) {
        signal?.throwIfAborted();
        part = chunk(events, i);
        const results = await ask('open', { events: part, peer });
        signal?.throwIfAborted();
        onOpened(part.map((event, k) => ('unreadable' in results[k] ? { event, unreadable: results[k].unreadable }
          : { event, slug: results[k].slug, text: results[k].text, members: results[k].members, addressOk: true })));
      }
    },
  };
  const known = (/** @type {any} */ got) => {
    if (got.pubkey) signer.pubkey = got.pubkey;
    return got;
  };
  return {
    /** @param {string} text @returns {Promise<{pubkey: string} | {password: true, log_n: number}>} */
    key: async (text) => known(await ask('key', { text })),
    /** @param {string} text @returns {Promise<{pubkey: string}>} */
    password: async (text) => known(await ask('password', { text })),
    signer,
    close,
  };
}
