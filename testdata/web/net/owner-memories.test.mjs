// What one agent's memories are, when relays differ, lie or are silent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engram, forged, keyed, outside, ownerOver, party, whole } from './fakes.mjs';

const owner = party(7), agent = party(9), stranger = party(11);
const slugs = (memories) => memories.entries.map((e) => e.slug).sort();

test('the newest valid version of all relays is shown', async (t) => {
  const old = engram(agent, owner, 'mem/a', 'old', 1000), now = engram(agent, owner, 'mem/a', 'now', 2000);
  const gone = engram(agent, owner, 'mem/gone', null, 1500), answer = engram(agent, owner, 'mem/proposals-answers/' + '0a'.repeat(16), 'x', 1500);
  const relays = { 'wss://one/': { events: [old, gone] }, 'wss://two/': { events: [now, answer] } };
  const memories = await whole(ownerOver(t, keyed(owner), relays), agent.pubkey);
  assert.deepEqual(slugs(memories), ['mem/a', 'mem/gone']);
  const a = memories.entries.find((e) => e.slug === 'mem/a');
  assert.deepEqual([a.text, a.address, a.utf8, a.relays], ['now', 'ok', 'ok', ['wss://two/']]);
  assert.deepEqual([memories.known.n, memories.known.exact], [1, true]);
});

test('a silent relay makes "at least", and is named', async (t) => {
  const relays = { 'wss://one/': { events: [engram(agent, owner, 'mem/a', 'x', 1000)] }, 'wss://mute/': { silent: true } };
  const { known } = await whole(ownerOver(t, keyed(owner), relays), agent.pubkey);
  assert.deepEqual(known, { n: 1, exact: false, why: ['failed'], details: [{ relay: 'wss://mute/', reason: 'no-auth' }] });
});

test('what a relay makes up hides nothing that another shows', async (t) => {
  const real = engram(agent, owner, 'mem/a', 'real', 1000);
  const flood = Array.from({ length: 40 }, (_, i) => forged(real, { created_at: 2000 + i }));
  for (const lies of [[forged(real)], [{ ...real, content: flood[0].content.replace(/^../, 'AB') }], flood, [{ ...flood[0], id: real.id }]]) {
    for (const order of [['wss://liar/', 'wss://honest/'], ['wss://honest/', 'wss://liar/']]) {
      const has = { 'wss://liar/': { events: lies }, 'wss://honest/': { events: [real] } };
      const memories = await whole(ownerOver(t, keyed(owner), Object.fromEntries(order.map((url) => [url, has[url]]))), agent.pubkey);
      const a = memories.entries.filter((e) => e.text === 'real');
      assert.equal(a.length, 1);
      assert.deepEqual(a[0].relays, ['wss://honest/']);
      assert.deepEqual([memories.entries.length, memories.known.n], [1, 1]);
    }
  }
});

test('what claims the id of a memory is not found in its place', async (t) => {
  const real = engram(agent, owner, 'mem/a', 'real', 1000), lie = { ...real, tags: [['d', '0e'.repeat(32)], ['p', owner.pubkey]] };
  for (const order of [['wss://liar/', 'wss://honest/'], ['wss://honest/', 'wss://liar/']]) {
    const has = { 'wss://liar/': { events: [lie, { ...lie, created_at: 5000, tags: [['d', '0f'.repeat(32)], ['p', owner.pubkey]] }] }, 'wss://honest/': { events: [real] } };
    const memories = await whole(ownerOver(t, keyed(owner), Object.fromEntries(order.map((url) => [url, has[url]]))), agent.pubkey);
    assert.deepEqual(memories.heads.filter((e) => e.event.id === real.id).map((e) => e.text), ['real']);
    assert.deepEqual([memories.entries.length, memories.known.n, memories.known.why], [1, 1, ['unreadable']]);
    assert.deepEqual(memories.known.details, [{ relay: 'wss://liar/', reason: 'unreadable-frames' }], 'whoever made it up is named');
  }
});

test('what cannot be read is listed with its reason', async (t) => {
  const elsewhere = engram(agent, owner, 'mem/a', 'x', 1000);
  const moved = agent.sign({ ...elsewhere, tags: [['d', '0b'.repeat(32)], ['p', owner.pubkey]] });
  const events = [moved, engram(agent, owner, 'mem/b', { value: 7 }, 1000), engram(agent, owner, 'mem/c', 'fine', 1000)];
  const memories = await whole(ownerOver(t, keyed(owner), { 'wss://one/': { events } }), agent.pubkey);
  assert.deepEqual(memories.entries.map((e) => e.unreadable).sort(), ['no-text', 'wrong-address', null].sort());
  assert.deepEqual([memories.known.n, memories.known.why], [1, ['unreadable']]);
});

test('behind an extension a slug that two addresses claim is a conflict', async (t) => {
  const one = engram(agent, owner, 'mem/a', 'one', 1000);
  const two = agent.sign({ ...engram(agent, owner, 'mem/a', 'two', 1001), tags: [['d', '0c'.repeat(32)], ['p', owner.pubkey]] });
  const memories = await whole(ownerOver(t, outside(owner), { 'wss://one/': { events: [one, two, engram(agent, owner, 'mem/b', 'b', 1002)] } }), agent.pubkey);
  assert.deepEqual(memories.entries.map((e) => [e.text, e.conflict, e.address]).sort(), [['b', false, 'unchecked'], ['one', true, 'unchecked'], ['two', true, 'unchecked']]);
});

test('behind an extension what is asked for is opened first, and after a stop nothing else', async (t) => {
  const events = Array.from({ length: 30 }, (_, i) => engram(agent, owner, `mem/n${i}`, `${i}`, 1000 + i));
  const signer = outside(owner);
  const it = ownerOver(t, signer, { 'wss://one/': { events } });
  const memories = await new Promise((resolve) => {
    const m = it.memories(agent.pubkey, { onChange: () => { if (m.opened === 1) { m.stop(); m.want([events[3].id]); } if (m.opened === 2) resolve(m); } });
  });
  const asked = signer.asked.slice(0, 2);
  assert.equal(asked[1], events[3].content);
  await new Promise((go) => setImmediate(go));
  assert.equal(signer.asked.length, 2);
  assert.deepEqual([memories.known.n, memories.known.why], [2, ['loading']]);
  memories.resume();
  await new Promise((resolve) => { memories.o.onChange = () => queueMicrotask(() => { if (memories.done) resolve(); }); });
  assert.equal(signer.asked.length, 30);
  assert.equal(slugs(memories).length, 30);
});

test('events of strangers are no memories', async (t) => {
  const lie = engram(stranger, owner, 'mem/a', 'x', 1000);
  const answer = (frame) => (frame[0] === 'REQ' ? [['EVENT', frame[1], lie], ['EOSE', frame[1]]] : undefined);
  const memories = await whole(ownerOver(t, keyed(owner), { 'wss://one/': { answer } }), agent.pubkey);
  assert.deepEqual([memories.entries, memories.known.n, memories.known.why], [[], 0, ['unreadable']]);
});
