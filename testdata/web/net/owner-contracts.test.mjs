// The contracts of the owner's key, as relays' APIs tell them: what was signed is shown
// as signed, and nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answering, engram, keyed, ownerOver, party } from './fakes.mjs';

const owner = party(7), worker = party(9), stranger = party(11);
const id = '0123456789abcdef0123456789abcdef';
const row = { contract_id: id, status: 'disputed', description: 'A summary', poster_npub: owner.npub, worker_npub: worker.npub, amount_sats: 5000, deadline: '2026-05-06T00:00:00Z', updated_at: '2026-05-04T00:00:00Z' };
const body = (content) => JSON.stringify({ type: 'message', content, visibility: 'shared' });
const entryEvent = (by, content, o = {}) => by.sign({ kind: 30090, created_at: 1000, content: body(content), tags: [['d', id], ['p', owner.pubkey], ['t', 'message']], ...o });
const entry = (n, by, content, event, more = {}) => ({ n, author_npub: by.npub, type: 'message', visibility: 'shared', content, created_at: '2026-05-04T00:00:00Z', event, ...more });
const move = (n, by, from, to, o = {}) => ({ n, event: by.sign({ kind: 30091, created_at: 1000 + n, content: JSON.stringify({ contract_id: id, status: to, previous_status: from, note: `to ${to}` }), tags: [['d', id]], ...o }) });

/** An API; `rows` by the last part of the path. */
const api = (rows, page = 200) => (url) => {
  const at = Number(url.searchParams.get('offset') ?? 0), part = (member, all) => ({ [member]: all.slice(at, at + page), total: all.length });
  if (url.pathname === '/api/escrow/contracts') return part('contracts', rows.contracts ?? []);
  if (url.pathname.endsWith('/memory')) return part('entries', rows.entries ?? []);
  if (url.pathname.endsWith('/transitions')) return part('transitions', rows.transitions ?? []);
  return url.pathname.endsWith(`/${id}`) ? { contract: row } : undefined;
};
const one = { 'wss://one/': {} };

test('contracts come page by page, each once, as the relay that saw it last tells it', async (t) => {
  const many = Array.from({ length: 5 }, (_, i) => ({ ...row, contract_id: `c${i}`, updated_at: `2026-05-0${i + 1}T00:00:00Z` }));
  answering(t, (url) => (url.host === 'none' ? undefined : api({ contracts: url.host === 'one' ? many : [{ ...many[4], status: 'open', updated_at: '2026-01-01T00:00:00Z' }] }, 2)(url)));
  const { rows, known } = await ownerOver(t, keyed(owner), { ...one, 'wss://two/': {}, 'wss://none/': {} }).contracts({});
  assert.deepEqual(rows.map((r) => [r.id, r.status]), [['c4', 'disputed'], ['c3', 'disputed'], ['c2', 'disputed'], ['c1', 'disputed'], ['c0', 'disputed']]);
  assert.deepEqual([rows[0].poster, rows[0].worker, rows[0].amount_sats, rows[0].deadline], [owner.pubkey, worker.pubkey, 5000, 1_778_025_600]);
  assert.deepEqual([known.n, known.exact], [5, true]);
});

test('where no relay has contracts there is no number', async (t) => {
  answering(t, () => undefined);
  const { known } = await ownerOver(t, keyed(owner), one).contracts({});
  assert.deepEqual([known.exact, known.details], [false, [{ relay: 'wss://one/', reason: 'no-contracts' }]]);
});

test('a list that does not end is cut', async (t) => {
  answering(t, (url) => ({ contracts: Array.from({ length: 200 }, (_, i) => ({ ...row, contract_id: `${url.searchParams.get('offset')}-${i}` })), total: 1e9 }));
  const { known } = await ownerOver(t, keyed(owner), one).contracts({});
  assert.deepEqual([known.n, known.why], [10_000, ['cut']]);
});

test('entries stand in order n, each with what its signature says', async (t) => {
  const fine = entryEvent(worker, 'The summary');
  const sealed = worker.sign({ kind: 30090, created_at: 1001, content: engram(worker, owner, 'mem/x', 'sealed words', 1).content, tags: [['d', id], ['p', owner.pubkey], ['t', 'message']] });
  const entries = [
    entry(7, worker, 'The summary', fine, { withdrawn: { at: '2026-05-05T00:00:00Z' } }),
    entry(1, worker, 'The summary, but more of it', fine),
    entry(2, stranger, 'The summary', fine),
    entry(3, worker, 'The summary', entryEvent(worker, 'The summary', { tags: [['d', 'another']] })),
    entry(4, worker, 'The summary', entryEvent(worker, 'The summary', { kind: 1 })),
    entry(5, worker, 'words that nobody signed', sealed, { encrypted: true, opened: true }),
    entry(6, worker, 'private', undefined, { visibility: 'worker_only' }),
    entry(8, worker, 'The summary', { ...fine, sig: '00'.repeat(64) }),
  ];
  answering(t, api({ entries }, 3));
  const got = await ownerOver(t, keyed(owner), one).contract(id, {});
  assert.deepEqual(got.entries.map((e) => [e.n, e.signature]), [[1, 'bad'], [2, 'bad'], [3, 'bad'], [4, 'bad'], [5, 'ok'], [6, 'none'], [7, 'ok'], [8, 'bad']]);
  const [, , , , five, , seven] = got.entries;
  assert.deepEqual([five.sealed, five.content, seven.withdrawn, seven.author, seven.created_at], [true, '', true, worker.pubkey, 1000]);
  assert.deepEqual([got.contract.id, got.contract.status, got.known.n, got.known.exact], [id, 'disputed', 8, true]);
});

test('a long thread is checked in parts, and whoever leaves does not wait for it', async (t) => {
  const event = entryEvent(worker, 'The summary'), entries = Array.from({ length: 1000 }, (_, n) => entry(n, worker, 'The summary', event));
  const stop = new AbortController();
  answering(t, (url) => {
    if (url.pathname.endsWith('/transitions')) setTimeout(() => stop.abort(), 100); // all has come by then, and a second's work is left
    return api({ entries })(url);
  });
  await assert.rejects(ownerOver(t, keyed(owner), one).contract(id, { signal: stop.signal }), { name: 'AbortError' });
});

test('states are what their events say', async (t) => {
  const lie = { ...move(3, worker, 'accepted', 'submitted'), status: 'completed', n: 3 };
  const transitions = [lie, move(1, owner, '', 'open'), move(2, worker, 'open', 'accepted', { kind: 1 }), { n: 4, status: 'completed' }];
  answering(t, api({ transitions }));
  const got = await ownerOver(t, keyed(owner), one).contract(id, {});
  assert.deepEqual(got.transitions.map((m) => [m.n, m.by, m.from, m.to, m.note, m.signature]), [
    [1, owner.pubkey, '', 'open', 'to open', 'ok'],
    [2, '', '', '', '', 'bad'],
    [3, worker.pubkey, 'accepted', 'submitted', 'to submitted', 'ok'],
    [4, '', '', 'completed', '', 'none'],
  ]);
});

test('the next relay is asked where one fails, which is named; another contract is none', async (t) => {
  const answer = api({ entries: [entry(1, worker, 'The summary', entryEvent(worker, 'The summary'))] });
  answering(t, (url) => {
    if (url.host === 'none') return undefined;
    if (url.host === 'bad') return new Response('', { status: 503 });
    return url.host === 'other' ? { contract: { ...row, contract_id: 'another' } } : answer(url);
  });
  const relays = { 'wss://none/': {}, 'wss://bad/': {}, 'wss://other/': {}, ...one };
  const { entries, known } = await ownerOver(t, keyed(owner), relays).contract(id, {});
  assert.deepEqual([entries.length, known.n, known.why], [1, 1, ['failed']]);
  assert.deepEqual(known.details, [{ relay: 'wss://bad/', reason: 'unready' }, { relay: 'wss://other/', reason: 'unreadable-answer' }]);
  await assert.rejects(ownerOver(t, keyed(owner), { 'wss://none/': {} }).contract(id, {}), { word: 'not-there' });
});
