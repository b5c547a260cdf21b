// The memories of one agent while they are read: what is there so far, told to whoever
// shows it, and the indexes that search, links and the tree go by.
import { calmly, inSlices, turn } from './chunks.mjs';
import { references } from '../nipae/references.mjs';
import { index, matches, words } from '../search.mjs';

/** @typedef {import('../owner/memories.mjs').Entry} Entry */
/** @typedef {{query: string, type: string, state: string, sys: boolean, since: number | null}} Filter */

/** The state of those that the agent removed, which only show when asked for. */
export const REMOVED = 'removed';

/** The prefix of what programs keep about the memory itself. */
const SYS = 'mem/sys/';

export class Reading {
  /** @type {import('../owner/memories.mjs').Memories} */
  memories;
  /** @type {Set<() => void>} */
  #watching = new Set();
  /** @type {WeakMap<Entry, {slug: string | null, text: string | null, words: string}>} */
  #indexed = new WeakMap();
  #stop = new AbortController();

  /**
   * @param {import('./context.mjs').Context} ctx
   * @param {string} agent
   */
  constructor(ctx, agent) {
    this.agent = agent;
    this.began = Math.floor(Date.now() / 1000);
    const tell = calmly(() => { for (const watch of [...this.#watching]) watch(); }, 300);
    this.memories = ctx.owner.memories(agent, { signal: this.#stop.signal, onChange: tell });
  }

  /** @param {() => void} watch @returns {() => void} ends it */
  watch(watch) {
    this.#watching.add(watch);
    return () => this.#watching.delete(watch);
  }

  close() {
    this.#watching.clear();
    this.#stop.abort();
  }

  /** What there is now, without removed memories. */
  get entries() {
    return this.memories.entries.filter((entry) => !isRemoved(entry));
  }

  /** How many of them cannot be read. */
  get unreadable() { return this.memories.entries.reduce((n, entry) => n + (entry.unreadable !== null ? 1 : 0), 0); }

  get opened() { return this.memories.opened; }
  get total() { return this.memories.total; }
  get done() { return this.memories.done; }
  get known() { return this.memories.known; }

  /**
   * The head at a slug; of two that claim it, the newer.
   * @param {string} slug
   * @returns {Entry | undefined}
   */
  at(slug) {
    const found = this.memories.entries.filter((entry) => entry.slug === slug);
    return found.sort((a, b) => b.event.created_at - a.event.created_at)[0];
  }

  /** @param {string} id of the event */
  byID(id) {
    // Among all heads: what was pressed before it was opened may turn out to be an answer to a proposal.
    return this.memories.heads.find((entry) => entry.event.id === id);
  }

  /**
   * Those that a filter lets through, newest first. Null when the signal ended it.
   * @param {Filter} filter
   * @param {AbortSignal} signal
   * @returns {Promise<Entry[] | null>}
   */
  async select(filter, signal) {
    const wanted = words(filter.query);
    /** @type {Entry[]} */
    const found = [];
    const whole = await inSlices(this.memories.entries, (entry) => {
      if (fits(entry, filter) && (wanted.length === 0 || matches(this.#index(entry), wanted))) found.push(entry);
    }, signal);
    if (!whole) return null;
    return found.sort((a, b) => b.event.created_at - a.event.created_at || (a.event.id < b.event.id ? -1 : 1));
  }

  /** @param {Entry} entry */
  #index(entry) {
    const { slug, text } = entry;
    const kept = this.#indexed.get(entry);
    if (kept && kept.slug === slug && kept.text === text) return kept.words;
    const made = index(`${slug ?? ''}\n${text ?? ''}`);
    this.#indexed.set(entry, { slug, text, words: made });
    return made;
  }

  /**
   * Which memories that are opened link to a slug.
   * @param {string} slug
   * @param {AbortSignal} signal
   * @returns {Promise<Entry[] | null>}
   */
  async backlinks(slug, signal) {
    /** @type {Entry[]} */
    const found = [];
    await turn();
    const whole = await inSlices(this.entries, (entry) => {
      if (entry.slug !== slug && linksFrom(entry).includes(slug)) found.push(entry);
    }, signal);
    return whole ? found : null;
  }

  /** How many of each type, and how large all of it is, among what is opened. */
  summary() {
    /** @type {Map<string, number>} */
    const types = new Map();
    let bytes = 0;
    for (const entry of this.entries) {
      if (entry.text === null || isSys(entry)) continue;
      const type = typeOf(entry);
      types.set(type, (types.get(type) ?? 0) + 1);
      bytes += entry.text.length;
    }
    return { types: [...types].sort((a, b) => b[1] - a[1]), bytes };
  }
}

/** Whether the agent removed it: the place is there, the text is not. @param {Entry} entry */
export const isRemoved = (entry) => entry.slug !== null && entry.text === null && entry.unreadable === null;

/** @param {Entry} entry */
export const isSys = (entry) => entry.slug?.startsWith(SYS) ?? false;

/** @param {Entry} entry */
export const typeOf = (entry) => entry.slug === 'core' ? 'core' : entry.unit?.type ?? 'unknown';

/** The slugs that a memory links to; the core has no fields, and may link all the same. @param {Entry} entry @returns {string[]} */
export const linksFrom = (entry) => entry.slug === 'core' ? references(entry.text ?? '') : entry.unit?.links ?? [];

/** @param {Entry} entry @param {Filter} filter */
function fits(entry, filter) {
  if (!filter.sys && isSys(entry)) return false;
  if (isRemoved(entry) !== (filter.state === REMOVED)) return false;
  if (filter.since !== null && entry.event.created_at < filter.since) return false;
  if (filter.type !== '' && typeOf(entry) !== filter.type) return false;
  if (filter.state === '' || filter.state === REMOVED) return true;
  return filter.state === 'unreadable' ? entry.unreadable !== null : entry.unit?.state === filter.state;
}

/** What a memory is called in lists. @param {Entry} entry */
export function nameOf(entry) {
  const said = (entry.unit?.title ?? '').slice(0, 160).trim();
  return said !== '' ? said : (entry.slug ?? '').split('/').at(-1) ?? '';
}
