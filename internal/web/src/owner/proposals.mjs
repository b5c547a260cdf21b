// What the owner proposes to an agent, and what the agent answers (docs/proposals.md).
import { tag } from '../nostr/event.mjs';
import { newer } from '../nipae/head.mjs';
import { newId } from '../signers/nip07.mjs';
import { proposalAddress } from '../nipae/address.mjs';
import { parseAnswer, parseProposal, textOf } from '../proposal.mjs';
import { inForce } from './heads.mjs';
import { known } from './known.mjs';

/** @typedef {import('./known.mjs').Known} Known */
/** @typedef {import('./pool.mjs').Owner} Owner */
/** @typedef {import('../nostr/event.mjs').NostrEvent} NostrEvent */
/** @typedef {import('../proposal.mjs').Form} Form */
/** @typedef {{answer: 'accepted' | 'rejected', event: string, hash: string, reason: string, older: boolean}} Answer */
/**
 * @typedef {object} Proposal
 * @property {NostrEvent} event
 * @property {string} id @property {string} propose @property {string} slug
 * @property {string} why @property {boolean} vouch @property {string} text
 * @property {number} created_at
 * @property {Answer | null} answer
 * @property {string | null} unreadable
 */

const MOST = 1000;
const SLOW = 86_400; // seconds that the agent's clock may be behind
const MAX_WHY = 1024; // bytes
const PROPOSALS = 'mem/proposals/', ANSWERS = 'mem/proposals-answers/';

/**
 * @param {Owner} owner @param {string} agent @param {Form} form
 * @returns {Promise<{id: string, relays: {relay: string, ok: boolean, word?: string, message: string}[]}>}
 */
export async function propose(owner, agent, form) {
  const id = newId();
  const event = await owner.signer.propose({ agent, id, text: textOf(form), created_at: Math.floor(Date.now() / 1000) });
  return { id, relays: await Promise.all(owner.relays.map((relay) => relay.publish(event))) };
}

/**
 * The owner's own proposals to an agent, newest first, with the answers that the
 * agent's memory has at the same ids.
 * @param {Owner} owner @param {string} agent @param {{signal?: AbortSignal}} o
 * @returns {Promise<{rows: Proposal[], known: Known}>}
 */
export async function proposals(owner, agent, { signal }) {
  const filter = { kinds: [30174], authors: [owner.pubkey], '#p': [agent] };
  const answers = await Promise.all(owner.relays.map((r) => r.query(filter, { signal, most: MOST })));
  const events = await inForce(answers.map((a) => a.events));
  /** @type {Proposal[]} */
  const rows = [];
  await owner.signer.open(events, {
    peer: agent, signal,
    onOpened: (results) => {
      for (const result of results) {
        const row = rowOf(result, owner.pubkey, agent);
        if (row) rows.push(row);
      }
    },
  });
  const since = rows.reduce((least, row) => (row.unreadable ? least : Math.min(least, row.created_at)), Infinity) - SLOW;
  const said = since < Infinity ? await answersOf(owner, agent, Math.max(0, since), new Set(rows.filter((row) => !row.unreadable).map((row) => row.id)), signal) : { answers: [], byId: new Map() };
  for (const row of rows) {
    const answer = said.byId.get(row.id);
    if (answer) row.answer = { ...answer, older: answer.proposal !== row.event.id };
  }
  const unreadable = rows.filter((r) => r.unreadable).length;
  return { rows: rows.sort((a, b) => newer(a.event, b.event)), known: known(rows.length - unreadable, [...answers, ...said.answers], { unreadable }) };
}

/** @param {import('../signers/nip07.mjs').Result} result @param {string} owner @param {string} agent @returns {Proposal | null} */
function rowOf(result, owner, agent) {
  const { event } = result;
  const empty = { event, id: '', propose: '', slug: '', why: '', vouch: false, text: '', created_at: event.created_at, answer: null };
  if ('unreadable' in result) return { ...empty, unreadable: result.unreadable };
  if (!result.slug.startsWith(PROPOSALS) || result.text === null) return null;
  const id = result.slug.slice(PROPOSALS.length);
  // The address of a proposal needs no secret: it is checked whoever decrypted.
  if (!/^[0-9a-f]{32}$/.test(id) || tag(event, 'd') !== proposalAddress(owner, agent, id)) return { ...empty, unreadable: 'wrong-address' };
  const said = parseProposal(result.text);
  if (!said) return { ...empty, id, unreadable: 'no-proposal' };
  const { propose, slug, why, vouch, text } = said;
  return { ...empty, id, propose, slug, why, vouch, text, unreadable: null };
}

/**
 * The agent's answers. They lie among its memory at addresses that only the key of the
 * pair tells, so that what the agent wrote since the first proposal is opened: the
 * newest first, and no more than it takes, since a signer may ask somebody each time.
 * @param {Owner} owner @param {string} agent @param {number} since @param {Set<string>} ids @param {AbortSignal} [signal]
 */
async function answersOf(owner, agent, since, ids, signal) {
  const answers = await Promise.all(owner.relays.map((r) => r.query({ kinds: [30174], authors: [agent], '#p': [owner.pubkey], since }, { signal })));
  /** @type {Map<string, Omit<Answer, 'older'> & {proposal: string}>} */
  const byId = new Map();
  const enough = new AbortController(), events = await inForce(answers.map((a) => a.events));
  await owner.signer.open(events, {
    peer: agent, signal: AbortSignal.any([enough.signal, ...(signal ? [signal] : [])]),
    onOpened: (results) => {
      for (const result of results) {
        if ('unreadable' in result || result.text === null || !result.slug.startsWith(ANSWERS)) continue;
        const answer = parseAnswer(result.text);
        const id = result.slug.slice(ANSWERS.length);
        if (answer && ids.has(id) && !byId.has(id)) byId.set(id, answer); // they come newest first
      }
      if (byId.size === ids.size) enough.abort();
    },
  }).catch((error) => {
    if (!enough.signal.aborted || signal?.aborted) throw error;
  });
  return { answers, byId };
}
