// The kept versions of one memory, and what their chain says, over several relays.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answering, engram, forged, keyed, ownerOver, party, whole } from './fakes.mjs';

const owner = party(7), agent = party(9);
const versions = Array.from({ length: 5 }, (_, i) => engram(agent, owner, 'mem/a', `text ${i}`, 1000 + i));
const [head, ...past] = [...versions].reverse();
const other = engram(agent, owner, 'mem/b', 'other', 900);

/** /history of events, newest first, some at a time. */
const history = (events, page = 2) => (url) => {
  const { searchParams: q } = url;
  if (url.pathname !== '/history') return undefined;
  const d = q.get('d'), until = Number(q.get('until') ?? Infinity);
  return events.filter((e) => e.pubkey === q.get('author') && (!d || e.tags[0][1] === d) && e.created_at <= until).slice(0, page);
};
const texts = (got) => got.versions.map((e) => e.text);
const headOf = async (it) => (await whole(it, agent.pubkey)).entries.find((e) => e.slug === 'mem/a');

test('all versions come page by page until nothing new comes', async (t) => {
  const asked = [];
  answering(t, (url, { headers }) => {
    const proof = JSON.parse(Buffer.from(headers.Authorization.slice('Nostr '.length), 'base64'));
    assert.deepEqual([proof.pubkey, proof.kind, proof.tags[0]], [owner.pubkey, 27235, ['u', url.href]]);
    asked.push(url.searchParams.get('until'));
    return history([...past, other])(url);
  });
  const it = ownerOver(t, keyed(owner), { 'wss://one/': { events: [head, other] } });
  const got = await it.versions(agent.pubkey, await headOf(it), {});
  assert.deepEqual(texts(got), ['text 4', 'text 3', 'text 2', 'text 1', 'text 0']);
  assert.deepEqual([got.known.n, got.known.exact, got.kept], [5, true, [{ relay: 'wss://one/', keeps: true }]]);
  assert.deepEqual(asked.slice(0, 2), [null, '1002']);
});

test('a relay without /history keeps no versions, one that fails is named', async (t) => {
  answering(t, (url) => ({ 'one': history(past)(url), 'two': undefined, 'three': new Response('', { status: 503 }) })[url.host]);
  const relays = { 'wss://one/': { events: [head] }, 'wss://two/': { events: [head] } };
  const two = ownerOver(t, keyed(owner), relays);
  const got = await two.versions(agent.pubkey, await headOf(two), {});
  assert.deepEqual(got.kept, [{ relay: 'wss://one/', keeps: true }, { relay: 'wss://two/', keeps: false }]);
  assert.deepEqual([got.known.n, got.known.exact, got.versions[0].relays.sort()], [5, true, ['wss://one/', 'wss://two/']]);
  const three = ownerOver(t, keyed(owner), { ...relays, 'wss://three/': { events: [head] } });
  const less = await three.versions(agent.pubkey, await headOf(three), {});
  assert.deepEqual([less.known.n, less.known.why, less.known.details], [5, ['failed'], [{ relay: 'wss://three/', reason: 'unready' }]]);
});

test('what one relay makes up takes the place of nothing', async (t) => {
  const lies = [forged(past[0]), { ...past[1], content: past[2].content }, forged(head, { created_at: 5000 })];
  answering(t, (url) => history(url.host === 'one' ? lies : past, 9)(url));
  const it = ownerOver(t, keyed(owner), { 'wss://one/': { events: [head] }, 'wss://two/': { events: [head] } });
  const got = await it.versions(agent.pubkey, await headOf(it), {});
  assert.deepEqual(texts(got), [null, 'text 4', 'text 3', 'text 2', 'text 1', 'text 0']);
  assert.deepEqual([got.versions[0].unreadable, got.known.n, got.known.why], ['not-signed', 5, ['unreadable']]);
});

test('a 401 that tells the time is asked once more with it', async (t) => {
  const times = [];
  answering(t, (url, { headers }) => {
    times.push(JSON.parse(Buffer.from(headers.Authorization.slice('Nostr '.length), 'base64')).created_at);
    return times.length === 1 ? new Response('auth-required: the time here is 2030-01-01T00:00:00Z', { status: 401 }) : history(past, 9)(url);
  });
  const it = ownerOver(t, keyed(owner), { 'wss://one/': { events: [head] } });
  assert.equal((await it.versions(agent.pubkey, await headOf(it), {})).known.n, 5);
  assert.ok(Math.abs(times[1] - 1_893_456_000) < 600);
});

test('the chain of all versions is judged over all relays', async (t) => {
  answering(t, history([...past, other], 9));
  const it = ownerOver(t, keyed(owner), { 'wss://one/': { events: [head] } });
  const got = await it.chain(agent.pubkey, {});
  assert.deepEqual([got.unchained, got.logs, got.known.n, got.known.exact], [6, [], 6, true]);
});
