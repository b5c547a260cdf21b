// What the page asks for, by the owner's signer and the relays that the owner has
// confirmed. No other relay is ever contacted.
import { Http, hashOf } from '../nostr/http.mjs';
import { Relay } from '../nostr/relay.mjs';
import { agents, approve, others, revoke } from './agents.mjs';
import { contract, contracts } from './contracts.mjs';
import { exportOf } from './export.mjs';
import { Memories } from './memories.mjs';
import { proposals, propose } from './proposals.mjs';
import { relaysOf } from './relays.mjs';
import { chain, versions } from './versions.mjs';

/** @typedef {import('../signers/nip07.mjs').Signer} Signer */
/** @typedef {{signal?: AbortSignal, onChange?: () => void}} Asking */

export class Owner {
  #closed = new AbortController();

  /** @param {{signer: Signer, relays: string[], WebSocket?: typeof globalThis.WebSocket, silence?: number, onOtherKey?: () => void}} o */
  constructor({ signer, relays, WebSocket = globalThis.WebSocket, silence = 10_000, onOtherKey }) {
    this.signer = signer;
    this.pubkey = signer.pubkey;
    const sign = (/** @type {import('../nostr/event.mjs').Template} */ template) => signer.sign(template).catch((error) => {
      if (error?.word === 'other-key') onOtherKey?.();
      throw error;
    });
    this.sign = sign;
    this.relays = relays.map((url) => new Relay(url, { sign, WebSocket, silence }));
    this.http = relays.map((url) => new Http(url, sign, { closed: this.#closed.signal, silence }));
  }

  close() {
    this.#closed.abort();
    for (const relay of this.relays) relay.close();
    this.signer.close();
  }

  /** @param {Parameters<typeof agents>[1]} o */
  agents(o) { return agents(this, o); }
  /** @param {Asking & {until?: number}} o */
  others(o) { return others(this, o); }
  /** @param {string} agent */
  approve(agent) { return approve(this, agent); }
  /** @param {string} agent */
  revoke(agent) { return revoke(this, agent); }
  /** @param {string} agent @param {Asking} o */
  memories(agent, o) { return new Memories(this, agent, o); }
  /** @param {string} agent @param {import('./entry.mjs').Entry} entry @param {Asking} o */
  versions(agent, entry, o) { return versions(this, agent, entry, o); }
  /** @param {string} agent @param {Asking} o */
  chain(agent, o) { return chain(this, agent, o); }
  /** @param {string} agent @param {import('./proposals.mjs').Form} form */
  propose(agent, form) { return propose(this, agent, form); }
  /** @param {string} agent @param {Asking} o */
  proposals(agent, o) { return proposals(this, agent, o); }
  /** @param {Asking} o */
  contracts(o) { return contracts(this, o); }
  /** @param {string} id @param {Asking} o */
  contract(id, o) { return contract(this, id, o); }
  /** @param {string} agent @param {Asking} [o] */
  relaysOf(agent, o = {}) { return relaysOf(this, agent, o); }
  /** @param {string} agent @param {'markdown' | 'jsonl'} form @param {{redact: boolean}} o */
  exportOf(agent, form, o) { return exportOf(this, agent, form, o); }
  /** The base of a proposal that is made for a text. @param {string} text */
  baseOf(text) { return hashOf(text); }
}
