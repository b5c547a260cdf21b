// The owner's agents: those on the list of approvals, and those that name the owner.
import { isHex32, tag } from '../nostr/event.mjs';
import { newer } from '../nipae/head.mjs';
import { Verifying } from './heads.mjs';
import { known } from './known.mjs';

/** @typedef {import('./known.mjs').Known} Known */
/** @typedef {import('../nostr/event.mjs').NostrEvent} NostrEvent */
/** @typedef {import('./pool.mjs').Owner} Owner */
/** @typedef {{pubkey: string, approved: boolean, count: Known | null, newest: number | null}} AgentRow */
/** @typedef {{ok: true} | {ok: false, reason: string, relays: string[]}} Done */

const LIST = 'engramd/agents'; // d tag of the list, kind 30078
const MOST = 200; // approved agents that are counted
const LOOK = 500; // newest events among which others are found
const AHEAD = 600; // seconds: a list from further in the future cannot be replaced

/** @param {Owner} owner */
const listFilter = (owner) => ({ kinds: [30078], authors: [owner.pubkey], '#d': [LIST] });

/**
 * What a relay shows of the owner's list. An id is only claimed until the signature is
 * checked, so that what one relay makes up stands for nothing that another shows.
 * @param {Owner} owner @param {import('../nostr/relay.mjs').Relay} relay @param {AbortSignal} [signal]
 */
async function shownBy(owner, relay, signal) {
  const { events, ...answer } = await relay.query(listFilter(owner), { signal, most: 20 });
  const verifying = new Verifying();
  /** @type {NostrEvent[]} */
  const lists = [];
  for (const event of events) if (tag(event, 'd') === LIST && await verifying.good(event)) lists.push(event);
  return { ...answer, unreadable: answer.unreadable + events.length - lists.length, lists };
}

/** @typedef {Awaited<ReturnType<typeof shownBy>>} Shown */

/** The newest list of all. @param {Shown[]} shown @returns {NostrEvent | undefined} */
const newest = (shown) => shown.flatMap((s) => s.lists).sort(newer)[0];

/** @param {NostrEvent | undefined} list @returns {string[]} each once */
const named = (list) => [...new Set(list?.tags.filter((t) => t[0] === 'p' && isHex32(t[1])).map((t) => t[1]) ?? [])];

/**
 * The approved agents. What is known is told as each relay answers; how much each agent
 * has comes after the lists.
 * @param {Owner} owner @param {{signal?: AbortSignal, onChange?: (got: {rows: AgentRow[], known: Known}) => void}} o
 * @returns {Promise<{rows: AgentRow[], known: Known}>}
 */
export async function agents(owner, { signal, onChange }) {
  /** @type {Shown[]} */
  const shown = [];
  const now = () => {
    const rows = named(newest(shown)).map((pubkey) => /** @type {AgentRow} */ ({ pubkey, approved: true, count: null, newest: null }));
    return { rows, known: known(rows.length, shown, { loading: shown.length < owner.relays.length }) };
  };
  await Promise.all(owner.relays.map(async (r) => {
    shown.push(await shownBy(owner, r, signal));
    onChange?.(now());
  }));
  const got = now();
  await Promise.all(got.rows.slice(0, MOST).map((row) => measure(owner, row, signal)));
  return got;
}

/** @param {Owner} owner @param {AgentRow} row @param {AbortSignal} [signal] */
async function measure(owner, row, signal) {
  const filter = { kinds: [30174], authors: [row.pubkey], '#p': [owner.pubkey] };
  const [counts, last] = await Promise.all([
    Promise.all(owner.relays.map(async (r) => ({ relay: r.url, said: await r.count(filter) }))),
    Promise.all(owner.relays.map((r) => r.query(filter, { signal, most: 1 }))),
  ]);
  const numbers = counts.flatMap(({ said }) => ('count' in said ? [said.count] : []));
  const failures = counts.flatMap(({ relay, said }) => ('failed' in said ? [{ relay, state: /** @type {const} */ ('failed'), reason: said.failed }] : []));
  const near = counts.some(({ said }) => 'count' in said && said.approximate);
  const count = numbers.length ? known(Math.max(...numbers), failures) : null;
  // Relays that count differently have different addresses: there are more than the most of one.
  if (count && (near || new Set(numbers).size > 1)) Object.assign(count, { exact: false, why: [...count.why, 'cut'] });
  row.count = count;
  row.newest = (await firstGood(last.flatMap((a) => a.events), new Verifying()))?.created_at ?? null;
}

/**
 * Who else writes to the owner, by the newest events: claims, of which nothing is opened.
 * @param {Owner} owner @param {{signal?: AbortSignal, until?: number}} o
 * @returns {Promise<{rows: {pubkey: string, newest: number, seen: number}[], known: Known, until: number | null}>}
 */
export async function others(owner, { signal, until }) {
  const filter = { kinds: [30174], '#p': [owner.pubkey], ...(until === undefined ? {} : { until }) };
  const [listed, answers] = await Promise.all([Promise.all(owner.relays.map((r) => shownBy(owner, r, signal))), Promise.all(owner.relays.map((r) => r.query(filter, { signal, most: LOOK })))]);
  const approved = new Set(named(newest(listed)));
  /** @type {Map<string, NostrEvent[]>} */
  const by = new Map();
  for (const event of answers.flatMap((a) => a.events)) {
    if (approved.has(event.pubkey)) continue;
    const its = by.get(event.pubkey);
    if (its) its.push(event);
    else by.set(event.pubkey, [event]);
  }
  /** @type {{pubkey: string, newest: number, seen: number}[]} */
  const rows = [];
  /** @type {Set<NostrEvent>} */
  const bad = new Set(); // a relay may make events up
  const verifying = new Verifying();
  for (const [pubkey, its] of by) {
    signal?.throwIfAborted();
    const first = await firstGood(its, verifying, bad);
    if (first) rows.push({ pubkey, newest: first.created_at, seen: new Set(its.map((e) => e.id)).size });
  }
  const oldest = answers.filter(isFull).map((a) => a.events.reduce((least, e) => Math.min(least, e.created_at), Infinity));
  const next = oldest.length ? Math.max(...oldest) : null;
  // A second that is as full as a page cannot be looked through: it is gone past, and the rest is cut.
  const stuck = next !== null && next === until;
  const whole = answers.map((a) => ({ ...a, ...(isFull(a) && !stuck && { state: /** @type {const} */ ('complete') }), unreadable: a.unreadable + a.events.filter((e) => bad.has(e)).length }));
  return { rows: rows.sort((a, b) => b.newest - a.newest), known: known(rows.length, whole), until: stuck ? (next > 0 ? next - 1 : null) : next };
}

/**
 * The newest of some events that is signed.
 * @param {NostrEvent[]} events @param {Verifying} verifying @param {Set<NostrEvent>} [bad] gets those that were met before it and are not
 */
async function firstGood(events, verifying, bad) {
  for (const event of events.sort(newer)) {
    if (await verifying.good(event)) return event;
    bad?.add(event);
  }
  return undefined;
}

/** @param {import('../nostr/relay.mjs').Answer} answer */
const isFull = (answer) => answer.reason === 'asked-for-no-more';

/** @param {Owner} owner @param {string} agent @returns {Promise<Done>} */
export const approve = (owner, agent) => change(owner, (tags) => (tags.some(names(agent)) ? tags : [...tags, ['p', agent]]));

/** @param {Owner} owner @param {string} agent @returns {Promise<Done>} */
export const revoke = (owner, agent) => change(owner, (tags) => tags.filter((t) => !names(agent)(t)));

/** @param {string} agent */
const names = (agent) => (/** @type {string[]} */ t) => t[0] === 'p' && t[1] === agent;

/**
 * Writes the list anew, only if every relay showed its own: an older list, sent
 * again, would revive whom another machine has revoked.
 * @param {Owner} owner @param {(tags: string[][]) => string[][]} edit @returns {Promise<Done>}
 */
async function change(owner, edit) {
  const shown = await Promise.all(owner.relays.map((r) => shownBy(owner, r)));
  // What cannot be read may have been the newest list.
  const silent = shown.filter((s) => s.state !== 'complete' || s.unreadable > 0).map((s) => s.relay);
  if (silent.length) return { ok: false, reason: 'not-all-answered', relays: silent };
  const list = newest(shown);
  const before = list?.tags ?? [['d', LIST]], tags = edit(before);
  let next = list;
  if (tags.length !== before.length) {
    const now = Math.floor(Date.now() / 1000);
    if (list && list.created_at >= now + AHEAD) return { ok: false, reason: 'list-from-future', relays: [] };
    next = await owner.sign({ kind: 30078, created_at: Math.max(now, (list?.created_at ?? 0) + 1), tags, content: list?.content ?? '' });
  }
  if (!next) return { ok: true }; // nobody is on a list that is not there
  const sent = await Promise.all(owner.relays.map((r) => r.publish(next)));
  const refused = sent.filter((s) => !s.ok).map((s) => s.relay);
  if (refused.length) return { ok: false, reason: 'not-all-took', relays: refused };
  const after = await Promise.all(owner.relays.map((r) => shownBy(owner, r)));
  const lost = after.filter((s) => s.state !== 'complete' || !s.lists.some((e) => e.id === next.id)).map((s) => s.relay);
  if (lost.length || newest(after)?.id !== next.id) return { ok: false, reason: 'changed-meanwhile', relays: lost };
  return { ok: true };
}
