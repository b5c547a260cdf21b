// The kept versions of a memory, and the chain over all of them.
import { judge } from '../chain.mjs';
import { newer } from '../nipae/head.mjs';
import { envelopeFault } from '../nipae/open.mjs';
import { tag } from '../nostr/event.mjs';
import { same } from './candidates.mjs';
import { opened, unopened } from './entry.mjs';
import { failed, known } from './known.mjs';

/** @typedef {import('./entry.mjs').Entry} Entry */
/** @typedef {import('./known.mjs').Known} Known */
/** @typedef {import('./pool.mjs').Owner} Owner */
/** @typedef {{versions: Entry[], known: Known, kept: {relay: string, keeps: boolean}[]}} Versions */
/** @typedef {{logs: import('../chain.mjs').Log[], unchained: number, known: Known}} Chain */

const MOST = 50_000; // versions that a chain is made of

/**
 * Every version of an agent that the relays show, or of one address.
 * @param {Owner} owner @param {string} agent @param {string | undefined} d @param {AbortSignal} [signal]
 */
async function everything(owner, agent, d, signal) {
  /** @type {Map<string, Entry[]>} by id, which is only claimed */
  const found = new Map();
  let refused = 0, size = 0;
  const take = (/** @type {string} */ relay, /** @type {import('../nostr/event.mjs').NostrEvent[]} */ events) => {
    for (const event of events) {
      if (envelopeFault(event, agent, owner.pubkey) || d !== undefined && tag(event, 'd') !== d) {
        if (tag(event, 'p') === owner.pubkey) refused++;
        continue;
      }
      const twins = found.get(event.id) ?? [], there = twins.find((e) => same(e.event, event));
      if (there?.relays.includes(relay) || !there && size >= MOST) continue;
      if (there) there.relays.push(relay);
      else {
        size++;
        found.set(event.id, [...twins, unopened(event, [relay])]);
      }
    }
  };
  const filter = { kinds: [30174], authors: [agent], '#p': [owner.pubkey], ...(d === undefined ? {} : { '#d': [d] }) };
  const got = await Promise.all(owner.relays.map(async (relay, i) => {
    // First what is in force: what replaces it meanwhile is then among the superseded.
    const head = await relay.query(filter, { signal });
    take(relay.url, head.events);
    const past = await superseded(owner.http[i], agent, d, signal);
    take(relay.url, past.events);
    return { head, past };
  }));
  const answers = got.flatMap(({ head, past }) => [{ ...head, events: [] }, past.answer]);
  if (size >= MOST) answers.push({ relay: '', state: 'cut', reason: 'too-many' });
  return { entries: [...found.values()].flat(), answers, kept: got.map(({ head, past }) => ({ relay: head.relay, keeps: past.keeps })), refused };
}

/** @typedef {{relay: string, state: 'complete' | 'cut' | 'failed', reason?: string, unreadable?: number}} Said */

/**
 * @param {import('../nostr/http.mjs').Http} http @param {string} agent @param {string | undefined} d @param {AbortSignal} [signal]
 * @returns {Promise<{events: import('../nostr/event.mjs').NostrEvent[], answer: Said, keeps: boolean}>}
 */
async function superseded(http, agent, d, signal) {
  try {
    const { events, state, reason, unreadable } = await http.history({ kind: 30174, author: agent, ...(d === undefined ? {} : { d }) }, signal);
    return { events, answer: { relay: http.relay, state, reason, unreadable }, keeps: true };
  } catch (error) {
    signal?.throwIfAborted();
    const keeps = /** @type {{word?: string}} */ (error).word !== 'not-there';
    return { events: [], answer: keeps ? failed(http.relay, error) : { relay: http.relay, state: 'complete' }, keeps };
  }
}

/**
 * Opens all. Of two that claim one id the one that can be read is it.
 * @param {Owner} owner @param {string} agent @param {Entry[]} entries @param {AbortSignal} [signal]
 * @returns {Promise<Entry[]>} newest first
 */
async function open(owner, agent, entries, signal) {
  const byEvent = new Map(entries.map((e) => [e.event, e]));
  await owner.signer.open(entries.map((e) => e.event), {
    peer: agent, signal,
    onOpened: (results) => {
      for (const result of results) {
        const entry = byEvent.get(result.event);
        if (entry) opened(entry, result, owner.signer);
      }
    },
  });
  const readable = new Set(entries.filter((e) => e.unreadable === null).map((e) => e.event.id));
  return entries.filter((e) => e.unreadable === null || !readable.has(e.event.id)).sort((a, b) => newer(a.event, b.event));
}

/**
 * @param {Owner} owner @param {string} agent @param {Entry} entry the head
 * @param {{signal?: AbortSignal}} o
 * @returns {Promise<Versions>}
 */
export async function versions(owner, agent, entry, { signal }) {
  const { entries, answers, kept, refused } = await everything(owner, agent, tag(entry.event, 'd'), signal);
  const all = await open(owner, agent, entries, signal);
  const unreadable = all.filter((e) => e.unreadable !== null).length;
  return { versions: all, known: known(all.length - unreadable, answers, { unreadable: unreadable + refused }), kept };
}

/**
 * @param {Owner} owner @param {string} agent @param {{signal?: AbortSignal}} o
 * @returns {Promise<Chain>}
 */
export async function chain(owner, agent, { signal }) {
  const { entries, answers, refused } = await everything(owner, agent, undefined, signal);
  const all = await open(owner, agent, entries, signal);
  const readable = all.flatMap(({ event, slug, text, members }) => (slug !== null && members ? [{ event, slug, text, members }] : []));
  const { logs, unchained } = await judge(readable, signal);
  return { logs, unchained, known: known(readable.length, answers, { unreadable: all.length - readable.length + refused }) };
}
