// Who the owner's agents are, and that the list of them is only written when it is known.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engram, forged, keyed, outside, ownerOver, party } from './fakes.mjs';

const owner = party(7), agent = party(9), second = party(11), stranger = party(13);
const listOf = (keys, created_at, more = [], content = '') => owner.sign({
  kind: 30078, created_at, content, tags: [['d', 'engramd/agents'], ...keys.map((k) => ['p', k]), ...more],
});
const two = () => ({ 'wss://one/': {}, 'wss://two/': {} });
const soon = () => Math.floor(Date.now() / 1000);

test('the approved agents are those of the newest list, with how much each has', async (t) => {
  const memory = [engram(agent, owner, 'mem/a', 'x', 1000), engram(agent, owner, 'mem/b', 'x', 2000)];
  const relays = { 'wss://one/': { events: [listOf([second.pubkey], 500), ...memory] }, 'wss://two/': { events: [listOf([agent.pubkey, agent.pubkey, 'x'], 600), memory[0]] } };
  const { rows, known } = await ownerOver(t, keyed(owner), relays).agents({});
  assert.deepEqual([rows.length, rows[0].pubkey, rows[0].newest, known.exact], [1, agent.pubkey, 2000, true]);
  assert.deepEqual([rows[0].count.n, rows[0].count.exact, rows[0].count.why], [2, false, ['cut']]);
});

test('a silent relay makes the agents "at least", and their numbers too', async (t) => {
  const relays = { 'wss://one/': { events: [listOf([agent.pubkey], 500), engram(agent, owner, 'mem/a', 'x', 1000)] }, 'wss://mute/': { silent: true } };
  const seen = [];
  const { rows, known } = await ownerOver(t, keyed(owner), relays).agents({ onChange: (got) => seen.push(got.known.why) });
  assert.deepEqual(seen[0], ['loading']);
  assert.deepEqual([known.why, known.details[0].relay], [['failed'], 'wss://mute/']);
  assert.deepEqual([rows[0].count.n, rows[0].count.exact, rows[0].count.why], [1, false, ['failed']]);
});

test('no count is no zero', async (t) => {
  const answer = (frame) => (frame[0] === 'COUNT' ? [['CLOSED', frame[1], 'error: no']] : undefined);
  const { rows } = await ownerOver(t, keyed(owner), { 'wss://one/': { events: [listOf([agent.pubkey], 500)], answer } }).agents({});
  assert.deepEqual([rows[0].count, rows[0].newest], [null, null]);
});

test('a number that a relay calls approximate is not exact', async (t) => {
  const answer = (frame) => (frame[0] === 'COUNT' ? [['COUNT', frame[1], { count: 40, approximate: true }]] : undefined);
  const { rows } = await ownerOver(t, keyed(owner), { 'wss://one/': { events: [listOf([agent.pubkey], 500)], answer } }).agents({});
  assert.deepEqual([rows[0].count.n, rows[0].count.exact], [40, false]);
});

test('others that name the owner are claims with a signature, without the approved', async (t) => {
  const claim = engram(stranger, owner, 'mem/a', 'x', 3000);
  const events = [listOf([agent.pubkey], 500), engram(agent, owner, 'mem/a', 'x', 4000), claim, forged(engram(second, owner, 'mem/a', 'x', 5000))];
  const got = await ownerOver(t, keyed(owner), { 'wss://one/': { events } }).others({});
  assert.deepEqual(got.rows, [{ pubkey: stranger.pubkey, newest: 3000, seen: 1 }]);
  assert.deepEqual([got.known.details, got.until], [[{ relay: 'wss://one/', reason: 'unreadable-frames' }], null]);
});

test('whoever makes up events hides nobody', async (t) => {
  const claim = engram(stranger, owner, 'mem/a', 'x', 3000), lies = Array.from({ length: 20 }, (_, i) => forged(claim, { created_at: 4000 + i }));
  for (const liar of [[...lies, forged(claim, { id: claim.id, content: 'x' })], [{ ...claim, content: 'x' }]]) {
    const got = await ownerOver(t, keyed(owner), { 'wss://one/': { events: [claim] }, 'wss://liar/': { events: liar } }).others({});
    assert.deepEqual(got.rows.map((r) => [r.pubkey, r.newest]), [[stranger.pubkey, 3000]]);
  }
  const list = listOf([agent.pubkey], 500);
  for (const lie of [{ ...list, tags: [['d', 'engramd/agents']] }, forged(listOf([], 900))]) {
    for (const order of [['wss://liar/', 'wss://one/'], ['wss://one/', 'wss://liar/']]) {
      const has = { 'wss://one/': { events: [list] }, 'wss://liar/': { events: [lie] } };
      const { rows, known } = await ownerOver(t, keyed(owner), Object.fromEntries(order.map((url) => [url, has[url]]))).agents({});
      assert.deepEqual([rows.map((r) => r.pubkey), known.why, known.details], [[agent.pubkey], ['unreadable'], [{ relay: 'wss://liar/', reason: 'unreadable-frames' }]]);
    }
  }
});

test('nothing is decrypted until an agent is opened', async (t) => {
  const signer = outside(owner);
  const it = ownerOver(t, signer, { 'wss://one/': { events: [listOf([agent.pubkey], 500), engram(agent, owner, 'mem/a', 'x', 1000), engram(stranger, owner, 'mem/a', 'x', 1000)] } });
  assert.deepEqual([(await it.agents({})).rows.length, (await it.others({})).rows.length, signer.asked], [1, 1, []]);
});

test('of more than 500 others the rest is asked for further back, and a full second ends', async (t) => {
  const base = engram(stranger, owner, 'mem/a', 'x', 1);
  const events = Array.from({ length: 600 }, (_, i) => forged(base, { created_at: 10_000 + i })), first = engram(second, owner, 'mem/a', 'x', 9000);
  const it = ownerOver(t, keyed(owner), { 'wss://one/': { events: [...events, first] } });
  const one = await it.others({});
  assert.deepEqual([one.rows.length, one.until], [0, 10_100]);
  const next = await it.others({ until: one.until });
  assert.deepEqual([next.rows.map((r) => r.pubkey), next.until], [[second.pubkey], null]);
  const full = ownerOver(t, keyed(owner), { 'wss://one/': { events: [...events.map((_, i) => forged(base, { created_at: 10_000, content: String(i) })), first] } });
  assert.equal((await full.others({})).until, 10_000);
  const stuck = await full.others({ until: 10_000 });
  assert.deepEqual([stuck.until, stuck.known.why], [9999, ['cut', 'unreadable']]);
  assert.deepEqual((await full.others({ until: stuck.until })).rows.map((r) => r.pubkey), [second.pubkey]);
});

test('approving keeps what else is on the list, and comes after it', async (t) => {
  const future = soon() + 100, relays = two();
  relays['wss://one/'].events = [listOf([second.pubkey], 500)];
  relays['wss://two/'].events = [listOf([second.pubkey], future, [['t', 'x'], ['p']], 'said')];
  assert.deepEqual(await ownerOver(t, keyed(owner), relays).approve(agent.pubkey), { ok: true });
  for (const { took } of Object.values(relays)) {
    assert.equal(took.length, 1);
    assert.deepEqual(took[0].tags, [['d', 'engramd/agents'], ['p', second.pubkey], ['t', 'x'], ['p'], ['p', agent.pubkey]]);
    assert.deepEqual([took[0].content, took[0].created_at], ['said', future + 1]);
  }
});

test('whoever is on the list is sent to the relays that lack it, unchanged', async (t) => {
  const relays = two(), list = listOf([agent.pubkey], 500);
  relays['wss://one/'].events = [list];
  assert.deepEqual(await ownerOver(t, keyed(owner), relays).approve(agent.pubkey), { ok: true });
  assert.deepEqual(relays['wss://two/'].took, [list]);
});

test('revoking takes the agent out, and writes no list where there is none', async (t) => {
  const relays = two();
  relays['wss://one/'].events = [listOf([agent.pubkey, second.pubkey, agent.pubkey], 500)];
  assert.deepEqual(await ownerOver(t, keyed(owner), relays).revoke(agent.pubkey), { ok: true });
  for (const { took } of Object.values(relays)) assert.deepEqual(took[0].tags, [['d', 'engramd/agents'], ['p', second.pubkey]]);
  const none = two();
  assert.deepEqual(await ownerOver(t, keyed(owner), none).revoke(agent.pubkey), { ok: true });
  assert.deepEqual(Object.values(none).flatMap((r) => r.took), []);
});

test('with a relay that does not say its list nothing is sent, and it is named', async (t) => {
  const list = listOf([agent.pubkey], 500);
  const closed = (frame) => (frame[0] === 'REQ' ? [['CLOSED', frame[1], 'error: no']] : undefined);
  const garbage = (frame) => (frame[0] === 'REQ' ? [['EVENT', frame[1], { id: 7 }], ['EOSE', frame[1]]] : undefined);
  for (const bad of [{ silent: true }, { answer: closed }, { answer: garbage }, { events: [forged(listOf([], 900))] }]) {
    const relays = { 'wss://one/': { events: [list] }, 'wss://bad/': bad };
    const it = ownerOver(t, keyed(owner), relays);
    for (const done of [await it.approve(second.pubkey), await it.revoke(agent.pubkey)]) {
      assert.deepEqual(done, { ok: false, reason: 'not-all-answered', relays: ['wss://bad/'] });
    }
    assert.deepEqual(Object.values(relays).flatMap((r) => r.took), []);
  }
});

test('a relay that refuses the list, or a list from the future, is said', async (t) => {
  const relays = { 'wss://one/': {}, 'wss://no/': { refuses: 'blocked: no' } };
  assert.deepEqual(await ownerOver(t, keyed(owner), relays).approve(agent.pubkey), { ok: false, reason: 'not-all-took', relays: ['wss://no/'] });
  const ahead = { 'wss://one/': { events: [listOf([], soon() + 10_000)] } };
  assert.deepEqual(await ownerOver(t, keyed(owner), ahead).approve(agent.pubkey), { ok: false, reason: 'list-from-future', relays: [] });
  assert.deepEqual(ahead['wss://one/'].took, []);
});

test('a list that another machine wrote at the same time is noticed', async (t) => {
  const relays = two();
  let asked = 0;
  const theirs = listOf([second.pubkey], soon() + 50);
  relays['wss://two/'].answer = ([type]) => {
    if (type === 'REQ' && ++asked === 2) relays['wss://two/'].events = [theirs];
    return undefined;
  };
  assert.deepEqual(await ownerOver(t, keyed(owner), relays).approve(agent.pubkey), { ok: false, reason: 'changed-meanwhile', relays: ['wss://two/'] });
});
