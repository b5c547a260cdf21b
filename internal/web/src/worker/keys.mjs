// The owner's key, which lives in the Worker alone. What may be done with it is what
// this file does: open what is the owner's to read, prove who asks (NIP-42, NIP-98),
// approve agents, and propose. It signs no engram in an agent's name.
import { schnorr } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { bech32 } from '@scure/base';
import * as nip19 from 'nostr-tools/nip19';
import * as nip44 from 'nostr-tools/nip44';
import * as nip49 from 'nostr-tools/nip49';
import { linked } from '../chain.mjs';
import { conversationKey, isProposalId, proposalAddress } from '../nipae/address.mjs';
import { MAX_BODY, Unreadable } from '../nipae/body.mjs';
import { ENGRAM, messageKeys, open, payloadBytes } from '../nipae/open.mjs';
import { eventId, isHex32, parseEvent } from '../nostr/event.mjs';

/** @typedef {import('../nostr/event.mjs').NostrEvent} NostrEvent */
/** @typedef {import('../nostr/event.mjs').Template} Template */
/** @typedef {{event: string, slug: string, text: string | null, members: Record<string, unknown>} | {event: string, unreadable: string}} Result */

const MAX_LOG_N = 18; // of scrypt: beyond it the browser would not come back
const APPROVALS = 'engramd/agents';

/** What cannot be done; its word is one of words.mjs, and it repeats nothing. */
export class KeyError extends Error {
  /** @param {string} word */
  constructor(word) {
    super(word);
    this.word = word;
  }
}

export class Keys {
  /** @type {Uint8Array | null} */ #secret = null;
  /** @type {string | null} */ #encrypted = null;
  /** @type {Map<string, Uint8Array>} */ #shared = new Map();
  #pubkey = '';

  /** @param {string} text an nsec or an ncryptsec @returns {{pubkey: string} | {password: true, log_n: number}} */
  key(text) {
    if (this.#secret) throw new KeyError('never-signed'); // one key for one Worker
    const bare = text.trim();
    if (bare.startsWith('ncryptsec1')) {
      const log_n = logN(bare);
      if (log_n > MAX_LOG_N) throw new KeyError('key-too-hard');
      this.#encrypted = bare;
      return { password: true, log_n };
    }
    try {
      const read = nip19.decode(bare);
      if (read.type === 'nsec') return this.#take(read.data);
    } catch { /* said below; the library's text may repeat the key */ }
    throw new KeyError('not-a-key');
  }

  /** @param {string} password of the ncryptsec */
  password(password) {
    if (!this.#encrypted) throw new KeyError('not-a-key');
    let secret;
    try {
      secret = nip49.decrypt(/** @type {any} */ (this.#encrypted), password);
    } catch {
      throw new KeyError('wrong-password');
    }
    this.#encrypted = null;
    return this.#take(secret);
  }

  /** @param {Uint8Array} secret */
  #take(secret) {
    try {
      this.#pubkey = bytesToHex(schnorr.getPublicKey(secret));
    } catch {
      throw new KeyError('not-a-key');
    }
    this.#secret = secret;
    return { pubkey: this.#pubkey };
  }

  #mine() {
    if (!this.#secret) throw new KeyError('no-key');
    return this.#secret;
  }

  /** @param {string} peer */
  #with(peer) {
    let key = this.#shared.get(peer);
    if (!key) {
      if (!isHex32(peer)) throw new KeyError('not-a-key');
      try {
        key = conversationKey(this.#mine(), peer);
      } catch {
        throw new KeyError('not-a-key');
      }
      if (this.#shared.size >= 64) this.#shared.clear();
      this.#shared.set(peer, key);
    }
    return key;
  }

  /** @param {Template} template @returns {NostrEvent} */
  sign(template) {
    const { kind, tags } = template;
    const approval = kind === 30078 && tags.filter((t) => t[0] === 'd').length === 1 && tags.some((t) => t[0] === 'd' && t[1] === APPROVALS);
    if (kind !== 22242 && kind !== 27235 && !approval) throw new KeyError('never-signed');
    return this.#signed(template);
  }

  /** @param {Template} template @returns {NostrEvent} */
  #signed({ kind, created_at, tags, content }) {
    const event = { pubkey: this.#pubkey, kind, created_at, tags, content };
    const id = eventId(event);
    const signed = parseEvent({ ...event, id, sig: bytesToHex(schnorr.sign(hexToBytes(id), this.#mine())) });
    if (!signed) throw new KeyError('never-signed');
    return signed;
  }

  /**
   * A proposal to an agent: sealed for it, at the proposal's own address, and committed
   * to the payload's message keys.
   * @param {{agent: string, id: string, text: string, created_at: number}} proposal @returns {NostrEvent}
   */
  proposal({ agent, id, text, created_at }) {
    if (agent === this.#pubkey || !isProposalId(id)) throw new KeyError('never-signed');
    const body = JSON.stringify({ slug: `mem/proposals/${id}`, value: text });
    if (new TextEncoder().encode(body).length > MAX_BODY) throw new KeyError('too-large');
    const key = this.#with(agent), content = nip44.encrypt(body, key);
    const keys = messageKeys(key, /** @type {Uint8Array} */ (payloadBytes(content)).subarray(1, 33));
    return this.#signed({
      kind: ENGRAM, created_at, content,
      tags: [['d', proposalAddress(this.#pubkey, agent, id)], ['p', agent], ['commit', bytesToHex(sha256(keys))]],
    });
  }

  /**
   * What events say that a peer wrote to the owner, or the owner to the peer.
   * @param {NostrEvent[]} events @param {string} peer @returns {Result[]}
   */
  open(events, peer) {
    const key = this.#with(peer);
    return events.map((event) => {
      const [author, other] = event.pubkey === this.#pubkey ? [this.#pubkey, peer] : [peer, this.#pubkey];
      try {
        const { slug, text, members } = open(key, event, author, other);
        return { event: event.id, slug, text, members: linked(members) };
      } catch (error) {
        return { event: event.id, unreadable: error instanceof Unreadable ? error.word : 'not-decrypted' };
      }
    });
  }
}

/** log_n of an ncryptsec (NIP-49). @param {string} text */
function logN(text) {
  try {
    const { prefix, words } = bech32.decode(/** @type {`${string}1${string}`} */ (text), 1000);
    const bytes = bech32.fromWords(words);
    if (prefix === 'ncryptsec' && bytes.length === 91 && bytes[0] === 2) return bytes[1];
  } catch { /* said below */ }
  throw new KeyError('not-a-key');
}
