// A signer in an extension (NIP-07), and what every signer is.
import { bytesToHex } from '@noble/hashes/utils.js';
import { Unreadable } from '../nipae/body.mjs';
import { envelopeFault, openedBySigner } from '../nipae/open.mjs';
import { isProposalId, proposalAddress } from '../nipae/address.mjs';
import { eventId, isHex32, parseEvent, verify } from '../nostr/event.mjs';

/** @typedef {import('../nostr/event.mjs').NostrEvent} NostrEvent */
/** @typedef {import('../nostr/event.mjs').Template} Template */
/** @typedef {import('../nipae/open.mjs').Opened} Opened */
/** @typedef {Opened | {event: NostrEvent, unreadable: string}} Result */
/** @typedef {{agent: string, id: string, text: string, created_at: number}} NewProposal */
/**
 * @typedef {object} Signer
 * @property {'nip07' | 'nip46' | 'pasted'} kind
 * @property {string} pubkey 64 hex digits
 * @property {boolean} canCheckAddress whether a slug is compared with its address
 * @property {boolean} canCheckUtf8
 * @property {(template: Template) => Promise<NostrEvent>} sign
 * @property {(proposal: NewProposal) => Promise<NostrEvent>} propose
 * @property {(events: NostrEvent[], o: {peer: string, signal?: AbortSignal, onOpened: (results: Result[]) => void}) => Promise<void>} open
 * @property {() => void} close
 */
/**
 * What NIP-07 and NIP-46 both give.
 * @typedef {object} Outside
 * @property {(template: Template) => Promise<unknown>} signEvent
 * @property {(peer: string, payload: string) => Promise<unknown>} decrypt
 * @property {(peer: string, text: string) => Promise<unknown>} encrypt
 */

/** What a signer did not do; its word is one of words.mjs. */
export class SignerError extends Error {
  /** @param {string} word */
  constructor(word) {
    super(word);
    this.name = 'SignerError';
    this.word = word;
  }
}

/**
 * A signer that is outside of the page: what it gives is checked, and it is asked
 * for one thing at a time.
 * @param {'nip07' | 'nip46'} kind @param {string} pubkey @param {Outside} outside @param {() => void} close
 * @returns {Signer}
 */
export function outsideSigner(kind, pubkey, outside, close) {
  let ended = false;
  /** @type {Promise<unknown>} */
  let last = Promise.resolve();
  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  const inTurn = (work) => {
    const next = last.then(() => {
      if (ended) throw new SignerError('logged-out');
      return work();
    });
    last = next.catch(() => {});
    return next;
  };
  const sign = (/** @type {Template} */ template) => inTurn(async () => {
    const given = await outside.signEvent({ ...template, tags: template.tags.map((t) => [...t]) }).catch(refused);
    const event = parseEvent(given);
    if (event && event.pubkey !== pubkey) {
      ended = true;
      throw new SignerError('other-key');
    }
    if (!event || event.id !== eventId({ pubkey, ...template }) || !verify(event)) throw new SignerError('bad-signature');
    return event;
  });
  return {
    kind, pubkey, canCheckAddress: false, canCheckUtf8: false, sign,
    close() {
      ended = true;
      close();
    },
    async propose({ agent, id, text, created_at }) {
      if (agent === pubkey || !isProposalId(id)) throw new SignerError('never-signed');
      const body = JSON.stringify({ slug: `mem/proposals/${id}`, value: text });
      const content = await inTurn(() => outside.encrypt(agent, body).catch(refused));
      if (typeof content !== 'string') throw new SignerError('bad-signature');
      return sign({ kind: 30174, created_at, content, tags: [['d', proposalAddress(pubkey, agent, id)], ['p', agent]] });
    },
    async open(events, { peer, signal, onOpened }) {
      for (const event of events) {
        signal?.throwIfAborted();
        const [author, other] = event.pubkey === pubkey ? [pubkey, peer] : [peer, pubkey];
        const fault = envelopeFault(event, author, other) ?? (verify(event) ? null : 'not-signed');
        if (fault) {
          onOpened([{ event, unreadable: fault }]);
          continue;
        }
        const plain = await inTurn(() => outside.decrypt(peer, event.content).catch(() => null));
        signal?.throwIfAborted();
        onOpened([read(event, plain)]);
      }
    },
  };
}

/** @param {NostrEvent} event @param {unknown} plain @returns {Result} */
function read(event, plain) {
  if (typeof plain !== 'string') return { event, unreadable: 'not-decrypted' };
  try {
    return openedBySigner(event, plain);
  } catch (error) {
    return { event, unreadable: error instanceof Unreadable ? error.word : 'not-decrypted' };
  }
}

/** @returns {never} */
function refused() {
  throw new SignerError('signer-refused');
}

/** 32 hex digits that nobody can guess: the id of a proposal. */
export const newId = () => bytesToHex(crypto.getRandomValues(new Uint8Array(16)));

/**
 * The extension's signer. It is waited for: extensions come late.
 * @param {{wait: number}} o ms @returns {Promise<Signer>}
 */
export async function connectNip07({ wait }) {
  const nostr = await present(wait);
  if (typeof nostr.nip44?.decrypt !== 'function' || typeof nostr.nip44?.encrypt !== 'function') throw new SignerError('no-nip44');
  const pubkey = await (async () => nostr.getPublicKey())().catch(refused);
  if (!isHex32(pubkey)) throw new SignerError('bad-signature');
  return outsideSigner('nip07', pubkey, {
    // What throws at once refuses too.
    signEvent: async (template) => nostr.signEvent(template),
    decrypt: async (peer, payload) => nostr.nip44.decrypt(peer, payload),
    encrypt: async (peer, text) => nostr.nip44.encrypt(peer, text),
  }, () => {});
}

/** @param {number} wait @returns {Promise<any>} */
function present(wait) {
  const there = () => /** @type {any} */ (globalThis).nostr;
  return new Promise((resolve, reject) => {
    if (there()) {
      resolve(there());
      return;
    }
    const until = Date.now() + wait;
    const look = setInterval(() => {
      if (!there() && Date.now() < until) return;
      clearInterval(look);
      if (there()) resolve(there());
      else reject(new SignerError('no-extension'));
    }, 50);
  });
}
