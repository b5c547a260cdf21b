// A relay and parties that live in the test's own process: what a relay shows, and
// whether it is honest, is said by the test.
import { schnorr } from '../../../internal/web/src/node_modules/@noble/curves/secp256k1.js';
import { bytesToHex, hexToBytes } from '../../../internal/web/src/node_modules/@noble/hashes/utils.js';
import * as nip19 from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/nip19.js';
import * as nip44 from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/nip44.js';
import { addressIn, conversationKey } from '../../../internal/web/src/nipae/address.mjs';
import { newer } from '../../../internal/web/src/nipae/head.mjs';
import { eventId } from '../../../internal/web/src/nostr/event.mjs';
import { fits } from '../../../internal/web/src/nostr/relay.mjs';
import { Owner } from '../../../internal/web/src/owner/pool.mjs';
import { outsideSigner } from '../../../internal/web/src/signers/nip07.mjs';
import { Keys } from '../../../internal/web/src/worker/keys.mjs';

/** Somebody with a key. @param {number} n 1 to 255 */
export function party(n) {
  const secret = new Uint8Array(32).fill(n);
  const pubkey = bytesToHex(schnorr.getPublicKey(secret));
  const sign = ({ kind, created_at, tags, content }) => {
    const event = { pubkey, kind, created_at, tags, content };
    const id = eventId(event);
    return { ...event, id, sig: bytesToHex(schnorr.sign(hexToBytes(id), secret)) };
  };
  return { secret, pubkey, npub: nip19.npubEncode(pubkey), sign };
}

/** An engram of one party for another. @param {string | object} body the text, or members beside the slug */
export function engram(author, other, slug, body, created_at) {
  const key = conversationKey(author.secret, other.pubkey);
  const name = slug === 'core' ? 'profile' : 'value';
  const members = typeof body === 'object' && body !== null ? body : { [name]: body };
  return author.sign({
    kind: 30174, created_at, content: nip44.encrypt(JSON.stringify({ slug, ...members }), key),
    tags: [['d', addressIn(key, author.pubkey, other.pubkey, slug)], ['p', other.pubkey]],
  });
}

/** The same event with a signature that is none. */
export const forged = (event, changes = {}) => {
  const made = { ...event, ...changes, sig: '00'.repeat(64) };
  return { ...made, id: changes.id ?? eventId(made) };
};

/** What the Worker does with a pasted key, in this process. */
export function keyed(who) {
  const keys = new Keys();
  keys.key(nip19.nsecEncode(who.secret));
  return {
    kind: 'pasted', pubkey: who.pubkey, canCheckAddress: true, canCheckUtf8: true, close() {},
    sign: async (template) => keys.sign(template),
    propose: async (proposal) => keys.proposal(proposal),
    async open(events, { peer, onOpened }) {
      if (events.length) onOpened(keys.open(events, peer).map((result, i) => ({ addressOk: true, ...result, event: events[i] })));
    },
  };
}

/** An extension's signer; `asked` tells what it was given to decrypt. */
export function outside(who) {
  const asked = [];
  const shared = (peer) => conversationKey(who.secret, peer);
  const signer = outsideSigner('nip07', who.pubkey, {
    signEvent: async (template) => who.sign(template),
    encrypt: async (peer, text) => nip44.encrypt(text, shared(peer)),
    decrypt: async (peer, payload) => { asked.push(payload); return nip44.decrypt(payload, shared(peer)); },
  }, () => {});
  return Object.assign(signer, { asked });
}

/**
 * Relays by their URLs. Each has `events` that it shows as they are, `took` what was
 * published, and may be `silent`, refuse with `refuses`, or `answer(frame)` itself.
 * @param {Record<string, {events?: any[], honest?: boolean, silent?: boolean, refuses?: string, answer?: (frame: any[]) => any[][] | undefined}>} relays
 */
export function sockets(relays) {
  return class {
    readyState = 0;
    constructor(url) {
      this.relay = relays[url];
      this.relay.events ??= [];
      this.relay.took ??= [];
      this.relay.heard ??= [];
      queueMicrotask(() => {
        this.readyState = 1;
        if (!this.relay.silent) this.say([['AUTH', 'challenge']]);
      });
    }
    say(frames) {
      queueMicrotask(() => { for (const frame of frames) if (this.readyState === 1) this.onmessage?.({ data: JSON.stringify(frame) }); });
    }
    send(text) {
      const frame = JSON.parse(text);
      this.relay.heard.push(frame);
      this.say(this.relay.answer?.(frame) ?? this.#answer(frame));
    }
    #answer([type, second, filter]) {
      const { relay } = this;
      if (type === 'AUTH') return [['OK', second.id, true, '']];
      if (type === 'CLOSE') return [];
      if (type === 'COUNT') return [['COUNT', second, { count: relay.events.filter((e) => fits(e, filter)).length }]];
      if (type === 'REQ') {
        const fit = relay.events.filter((e) => fits(e, filter)).sort(newer), found = fit.slice(0, filter.limit);
        return [...found.map((e) => ['EVENT', second, e]), ['EOSE', second, [found.length < fit.length ? 'more' : 'finish']]];
      }
      if (relay.refuses) return [['OK', second.id, false, relay.refuses]];
      relay.took.push(second);
      relay.events = [...relay.events.filter((e) => e.pubkey !== second.pubkey || e.kind !== second.kind || dOf(e) !== dOf(second)), second];
      return [['OK', second.id, true, '']];
    }
    close() { this.readyState = 3; }
  };
}

const dOf = (event) => event.tags.find((t) => t[0] === 'd')?.[1];

/** The owner over these relays. */
export function ownerOver(t, signer, relays) {
  // A busy machine must not make honest relays silent.
  const silence = Object.values(relays).some((r) => r.silent) ? 1500 : 8000;
  const owner = new Owner({ signer, relays: Object.keys(relays), WebSocket: sockets(relays), silence });
  t.after(() => owner.close());
  return owner;
}

/** What HTTP answers, by a function of URL and options; fetch is put back when the test ends. */
export function answering(t, answer) {
  const real = globalThis.fetch;
  globalThis.fetch = async (url, options) => {
    const said = await answer(new URL(url), options);
    if (said instanceof Response) return said;
    return said === undefined ? new Response('', { status: 404 }) : Response.json(said);
  };
  t.after(() => { globalThis.fetch = real; });
}

/** Memories once all is opened. */
export const whole = (owner, agent, o = {}) => new Promise((resolve) => {
  const memories = owner.memories(agent, { ...o, onChange: () => queueMicrotask(() => { if (memories.done) resolve(memories); }) });
});
