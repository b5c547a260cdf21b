// The contracts of this key, by the relays' contract API, read only (docs/contracts.md).
import * as nip19 from 'nostr-tools/nip19';
import { breathing } from '../breathe.mjs';
import { checkEntry, checkMove } from '../contract.mjs';
import { RelayError } from '../nostr/relay.mjs';
import { failed, known } from './known.mjs';

/** @typedef {import('./known.mjs').Known} Known */
/** @typedef {import('./pool.mjs').Owner} Owner */
/** @typedef {import('../nostr/http.mjs').Http} Http */
/** @typedef {import('../contract.mjs').Signature} Signature */
/** @typedef {{id: string, status: string, description: string, poster: string, worker: string, amount_sats: number | null, deadline: number | null, updated: number | null}} ContractRow */
/** @typedef {{n: number | null, author: string, type: string, content: string, created_at: number, signature: Signature, withdrawn: boolean, sealed: boolean, visibility: string}} ContractEntry */
/** @typedef {{n: number | null, by: string, from: string, to: string, note: string, created_at: number, signature: Signature, withdrawn: boolean}} Transition */
/** @typedef {{contract: ContractRow, entries: ContractEntry[], transitions: Transition[], known: Known}} Thread */

const PAGE = 200;
const MOST = 10_000; // rows of one list
const MOST_BYTES = 128 << 20; // characters of one list
const API = '/api/escrow/contracts';

/** @typedef {Record<string, any>} Row */

/** @param {unknown} v @param {number} [most] @returns {string} */
const text = (v, most = 65_536) => (typeof v === 'string' ? v.slice(0, most) : '');
/** Unix seconds of a time in RFC 3339 or in seconds. @param {unknown} v */
const moment = (v) => (typeof v === 'number' && v > 0 ? Math.floor(v) : typeof v === 'string' && v ? Math.floor(Date.parse(v) / 1000) || null : null);
const number = (/** @type {unknown} */ v) => (typeof v === 'number' && Number.isSafeInteger(v) ? v : null);

/** The hex key of an npub, "" if it is none. @param {unknown} npub */
function hex(npub) {
  try {
    const read = nip19.decode(text(npub, 200));
    return read.type === 'npub' ? read.data : '';
  } catch {
    return '';
  }
}

/** @param {Row} row @param {'poster' | 'worker'} who */
const party = (row, who) => text(row[`${who}_pubkey`], 64) || hex(row[`${who}_npub`]) || text(row[`${who}_agent_id`], 200);

/** @param {Row} row @returns {ContractRow} */
const contractOf = (row) => ({
  id: text(row.contract_id, 128), status: text(row.status, 40), description: text(row.description), poster: party(row, 'poster'), worker: party(row, 'worker'),
  amount_sats: number(row.amount_sats), deadline: moment(row.deadline), updated: moment(row.updated_at) ?? moment(row.created_at),
});

/**
 * All rows of a list, page after page.
 * @param {Http} http @param {string} path @param {string} member of the answer
 * @param {AbortSignal} [signal]
 * @returns {Promise<{rows: Row[], state: 'complete' | 'cut'}>}
 */
async function list(http, path, member, signal) {
  /** @type {Row[]} */
  const rows = [];
  let bytes = 0;
  for (;;) {
    const { json, size } = await http.get(`${path}${path.includes('?') ? '&' : '?'}limit=${PAGE}&offset=${rows.length}`, signal);
    const { [member]: page, total } = /** @type {Row} */ (json ?? {});
    if (!Array.isArray(page) || page.length > PAGE || !page.every((row) => typeof row === 'object' && row !== null)) throw new RelayError('unreadable-answer', http.relay);
    rows.push(...page);
    if (!page.length || typeof total === 'number' && rows.length >= total) return { rows, state: 'complete' };
    if (rows.length >= MOST || (bytes += size) > MOST_BYTES) return { rows, state: 'cut' };
  }
}

/**
 * @param {Owner} owner @param {{signal?: AbortSignal}} o
 * @returns {Promise<{rows: ContractRow[], known: Known}>}
 */
export async function contracts(owner, { signal }) {
  /** @type {Map<string, ContractRow>} */
  const found = new Map();
  const answers = await Promise.all(owner.http.map(async (http) => {
    try {
      const { rows, state } = await list(http, API, 'contracts', signal);
      for (const row of rows.map(contractOf)) {
        const there = found.get(row.id);
        if (row.id && (!there || (row.updated ?? 0) > (there.updated ?? 0))) found.set(row.id, row);
      }
      return { relay: http.relay, state, reason: state === 'cut' ? 'too-many' : undefined };
    } catch (error) {
      signal?.throwIfAborted();
      return failed(http.relay, error);
    }
  }));
  // A relay without the API is none that failed, as long as another has it.
  const has = answers.filter((a) => a.reason !== 'not-there');
  const told = has.length ? has : answers.map((a) => ({ ...a, reason: 'no-contracts' }));
  return { rows: [...found.values()].sort((a, b) => (b.updated ?? 0) - (a.updated ?? 0)), known: known(found.size, told) };
}

/**
 * One contract as the first relay that has it shows it, in order n.
 * @param {Owner} owner @param {string} id @param {{signal?: AbortSignal}} o
 * @returns {Promise<Thread>}
 */
export async function contract(owner, id, { signal }) {
  const path = `${API}/${encodeURIComponent(id)}`;
  /** @type {unknown} */
  let last = Object.assign(new Error('none'), { word: 'not-found' });
  /** @type {Parameters<typeof known>[1]} */
  const before = []; // relays that failed, and may have more of it
  for (const http of owner.http) {
    try {
      const { json } = await http.get(path, signal);
      const row = contractOf(/** @type {Row} */ (/** @type {Row} */ (json)?.contract ?? json ?? {}));
      if (row.id !== id) throw new RelayError('unreadable-answer', http.relay);
      const [entries, moves] = [await list(http, `${path}/memory?events=true`, 'entries', signal), await list(http, `${path}/transitions`, 'transitions', signal)];
      const all = await checked(entries.rows, (e) => entryOf(e, id), signal), transitions = await checked(moves.rows, (m) => moveOf(m, id), signal);
      const answers = [entries, moves].map(({ state }) => ({ relay: http.relay, state, reason: state === 'cut' ? 'too-many' : undefined }));
      return { contract: row, entries: inOrder(all), transitions: inOrder(transitions), known: known(all.length, [...before, ...answers]) };
    } catch (error) {
      signal?.throwIfAborted();
      last = error;
      if (/** @type {{word?: string}} */ (error).word !== 'not-there') before.push(failed(http.relay, error));
    }
  }
  throw last;
}

/**
 * What all rows say: each has a signature that takes its time.
 * @template T @param {Row[]} rows @param {(row: Row) => T} check @param {AbortSignal} [signal] @returns {Promise<T[]>}
 */
async function checked(rows, check, signal) {
  const breathe = breathing(signal);
  /** @type {T[]} */
  const all = [];
  for (const row of rows) {
    await breathe();
    all.push(check(row));
  }
  return all;
}

/** @template {{n: number | null, created_at: number}} T @param {T[]} rows */
const inOrder = (rows) => rows.sort((a, b) => (a.n !== null && b.n !== null ? a.n - b.n : a.created_at - b.created_at));

/** @param {Row} row @param {string} id @returns {ContractEntry} */
function entryOf(row, id) {
  const author = hex(row.author_npub) || text(row.author_agent_id, 200);
  const { signature, event, sealed } = checkEntry(row, id, /^[0-9a-f]{64}$/.test(author) ? author : '');
  const shut = sealed || (row.sealed ?? null) !== null; // what a relay says to have opened is nobody's signed word
  return {
    n: number(row.n), author: event?.pubkey ?? author, type: text(row.type, 40), content: shut ? '' : text(row.content), created_at: event?.created_at ?? moment(row.created_at) ?? 0,
    signature, withdrawn: row.withdrawn !== undefined && row.withdrawn !== null, sealed: shut, visibility: text(row.visibility, 40),
  };
}

/** @param {Row} row @param {string} id @returns {Transition} */
function moveOf(row, id) {
  const { signature, event, status, previous, note } = checkMove(row.event, id, hex(row.author_npub));
  return {
    n: number(row.n), by: event?.pubkey ?? (hex(row.author_npub) || text(row.moved_by, 40)), from: text(event ? previous : row.previous_status, 40),
    to: text(event ? status : row.status, 40), note: text(event ? note : row.note), created_at: event?.created_at ?? moment(row.created_at) ?? moment(row.received_at) ?? 0,
    signature, withdrawn: row.withdrawn !== undefined && row.withdrawn !== null,
  };
}
