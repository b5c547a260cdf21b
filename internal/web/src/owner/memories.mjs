// The memories of one agent: asked of every relay, the newest valid version at each
// address, opened as fast as the signer does.
import { newer } from '../nipae/head.mjs';
import { envelopeFault } from '../nipae/open.mjs';
import { isExchange } from '../nipae/slug.mjs';
import { eventId } from '../nostr/event.mjs';
import { Candidates } from './candidates.mjs';
import { opened } from './entry.mjs';
import { known } from './known.mjs';

/** @typedef {import('./entry.mjs').Entry} Entry */
/** @typedef {import('../nostr/event.mjs').NostrEvent} NostrEvent */
/** @typedef {import('../nostr/relay.mjs').Answer} Answer */
/** @typedef {import('./pool.mjs').Owner} Owner */

const CHUNK = 40; // opened between two looks at what is visible
const SLICE = 12; // ms of work in one go

export class Memories {
  #heads = new Candidates();
  /** @type {Map<string, Entry>} */ #byId = new Map();
  /** @type {Entry[]} */ #closed = []; // to be opened, the last one first
  #sorted = true;
  /** @type {Answer[]} */ #answers = [];
  /** @type {Set<string>} */ #wanted = new Set();
  /** @type {{relay: string, events: NostrEvent[]}[]} */ #pending = [];
  /** @type {Promise<void>} */ #placing = Promise.resolve();
  #busy = false;
  /** @type {Map<string, number>} */ #refused = new Map(); // by relay: events that are no engrams of this pair, or have another's id
  #stopped = false;
  #running = false;
  #asked = false;
  /** @type {{entries: Entry[], known: import('./known.mjs').Known, opened: number} | null} */ #seen = null;

  /** @param {Owner} owner @param {string} agent @param {{signal?: AbortSignal, onChange?: () => void}} o */
  constructor(owner, agent, o) {
    this.owner = owner;
    this.agent = agent;
    this.o = o;
    const filter = { kinds: [30174], authors: [agent], '#p': [owner.pubkey] };
    Promise.all(owner.relays.map(async (relay) => {
      const answer = await relay.query(filter, { signal: o.signal, onEvents: (events) => this.#take(relay.url, events) });
      this.#answers.push({ ...answer, events: [] });
      this.#tell();
    })).then(() => this.#placing).then(() => { this.#asked = true; this.#tell(); this.#run(); }, () => {});
  }

  get total() { return this.#heads.size; }
  get entries() { return this.#look().entries; }
  get known() { return this.#look().known; }
  get opened() { return this.#look().opened; }
  get done() { return this.#asked && this.opened === this.total; }

  /** Every head, proposals' answers too. @returns {Entry[]} */
  get heads() { return Array.from(this.#heads.all(), ({ entry }) => entry); }

  /** @param {string} relay @param {NostrEvent[]} events */
  #take(relay, events) {
    this.#pending.push({ relay, events });
    if (!this.#busy) this.#placing = this.#place();
  }

  /** Finds the place of what came, with room between for others' work. */
  async #place() {
    let until = performance.now() + SLICE;
    this.#busy = true;
    for (let next = this.#pending.shift(); next; next = this.#pending.shift()) {
      for (const event of next.events) {
        this.#placed(next.relay, event);
        if (performance.now() < until) continue;
        this.#tell();
        this.#run();
        await new Promise((done) => setTimeout(done));
        if (this.o.signal?.aborted) return;
        until = performance.now() + SLICE;
      }
    }
    this.#busy = false;
    this.#tell();
    this.#run();
  }

  /** @param {string} relay @param {NostrEvent} event */
  #placed(relay, event) {
    // Whoever looks for an event by its id must not find what only claims it.
    const none = envelopeFault(event, this.agent, this.owner.pubkey) || eventId(event) !== event.id;
    const entry = none ? undefined : this.#heads.take(relay, event);
    if (entry === undefined) this.#refused.set(relay, (this.#refused.get(relay) ?? 0) + 1);
    if (!entry) return;
    this.#byId.set(event.id, entry);
    this.#closed.push(entry);
    this.#sorted = false;
  }

  /** What is asked for is opened first. @param {string[]} ids of events */
  want(ids) {
    this.#wanted = new Set(ids);
    this.#run();
  }

  /** Nothing more is opened but what is asked for. */
  stop() {
    this.#stopped = true;
    this.#wanted.clear();
  }

  /** Opens all again, after stop. */
  resume() {
    this.#stopped = false;
    this.#run();
  }

  async #run() {
    if (this.#running) return;
    this.#running = true;
    try {
      for (let next = this.#next(); next.length; next = this.#next()) {
        const byEvent = new Map(next.map((e) => [e.event, e]));
        await this.owner.signer.open(next.map((e) => e.event), {
          peer: this.agent, signal: this.o.signal,
          onOpened: (results) => {
            for (const result of results) this.#opened(byEvent.get(result.event), result);
            this.#tell();
          },
        });
      }
    } catch {
      this.#stopped = true; // the signer has ended, or whoever asked has gone
    } finally {
      this.#running = false;
      this.#tell();
    }
  }

  /** @returns {Entry[]} */
  #next() {
    const most = this.owner.signer.kind === 'pasted' ? CHUNK : 1;
    const waits = (/** @type {Entry | undefined} */ e) => e !== undefined && isClosed(e) && this.#heads.at(e.event) === e;
    const wanted = [...this.#wanted].map((id) => this.#byId.get(id)).filter((e) => e !== undefined).filter(waits);
    if (wanted.length || this.#stopped) return wanted.slice(0, most);
    if (!this.#sorted) this.#closed.sort((a, b) => newer(b.event, a.event));
    this.#sorted = true;
    /** @type {Entry[]} */
    const next = [];
    for (let entry = this.#closed.pop(); entry; entry = this.#closed.pop()) {
      if (waits(entry)) next.push(entry);
      if (next.length === most) break;
    }
    return next;
  }

  /** @param {Entry | undefined} entry @param {import('../signers/nip07.mjs').Result} result */
  #opened(entry, result) {
    if (!entry) return;
    opened(entry, result, this.owner.signer);
    if (entry.unreadable === null) return;
    // Another relay may show an older version, or the true one: the newest valid counts.
    const other = this.#heads.at(entry.event);
    if (!other || !isClosed(other)) return;
    if (this.#wanted.has(entry.event.id)) this.#wanted.add(other.event.id);
    this.#byId.set(other.event.id, other);
    this.#closed.push(other);
  }

  #tell() {
    this.#seen = null;
    this.o.onChange?.();
  }

  #look() {
    if (this.#seen) return this.#seen;
    /** @type {Map<string, Entry>} */
    const bySlug = new Map();
    /** @type {Entry[]} */
    const entries = [];
    let live = 0, unreadable = 0, count = 0;
    for (const { entry, passed } of this.#heads.all()) {
      unreadable += passed;
      if (!isClosed(entry)) count++;
      if (entry.slug !== null && isExchange(entry.slug)) continue;
      entries.push(entry);
      if (entry.unreadable !== null) unreadable++;
      else if (entry.text !== null) live++; // what is not opened yet may be a removal
      if (entry.slug === null) continue;
      const twin = bySlug.get(entry.slug);
      entry.conflict = twin !== undefined;
      if (twin) twin.conflict = true;
      else bySlug.set(entry.slug, entry);
    }
    const answers = this.#answers.map((a) => ({ ...a, unreadable: a.unreadable + (this.#refused.get(a.relay) ?? 0) }));
    this.#seen = { entries, opened: count, known: known(live, answers, { loading: !this.#asked || count < this.total, unreadable }) };
    return this.#seen;
  }
}

/** @param {Entry} entry */
const isClosed = (entry) => entry.slug === null && entry.unreadable === null;
