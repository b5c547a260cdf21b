// What the owner proposes, and finds again with the agent's answers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proposalAddress } from '../../../internal/web/src/nipae/address.mjs';
import { engram, forged, keyed, outside, ownerOver, party } from './fakes.mjs';

const owner = party(7), agent = party(9);
const form = (it, more = {}) => ({ propose: 'edit', slug: 'mem/a', base: it.baseOf('old'), why: 'it changed', vouch: true, text: 'new\n', ...more });
const idOf = (n) => String(n).padStart(32, '0');
const proposal = (n, text, created_at = 2000) => engram(owner, agent, `mem/proposals/${idOf(n)}`, text, created_at);
const answer = (n, text, created_at = 3000) => engram(agent, owner, `mem/proposals-answers/${idOf(n)}`, text, created_at);
const wants = '---\npropose: archive\nslug: mem/a\nbase: ' + 'ab'.repeat(32) + '\n---\n';
const says = (of, word = 'accepted') => `---\nanswer: ${word}\nproposal: ${of}\n${word === 'accepted' ? `event: ${'ef'.repeat(32)}\n` : ''}---\nso it is`;

for (const [name, signer] of Object.entries({ pasted: keyed, extension: outside })) {
  test(`${name}: a proposal goes to every relay, sealed for the agent, and is found again`, async (t) => {
    const relays = { 'wss://one/': {}, 'wss://no/': { refuses: 'blocked: <b>no</b>' } };
    const it = ownerOver(t, signer(owner), relays);
    const sent = await it.propose(agent.pubkey, form(it));
    assert.deepEqual(sent.relays.map(({ relay, ok }) => [relay, ok]), [['wss://one/', true], ['wss://no/', false]]);
    const [event] = relays['wss://one/'].took;
    assert.deepEqual([event.pubkey, event.kind], [owner.pubkey, 30174]);
    const commits = event.tags.filter(([tag]) => tag === 'commit');
    assert.deepEqual(event.tags.slice(0, 2), [['d', proposalAddress(owner.pubkey, agent.pubkey, sent.id)], ['p', agent.pubkey]]);
    assert.equal(event.tags.length, 2 + commits.length);
    // A signer outside the page never gives the key that is committed to.
    assert.deepEqual(commits.map(([, sum]) => /^[0-9a-f]{64}$/.test(sum)), name === 'pasted' ? [true] : []);
    assert.ok(!JSON.stringify(event).includes('new'));
    const { rows, known } = await it.proposals(agent.pubkey, {});
    assert.deepEqual(rows.map(({ id, propose, slug, why, vouch, text, answer: a }) => [id, propose, slug, why, vouch, text, a]),
      [[sent.id, 'edit', 'mem/a', 'it changed', true, 'new\n', null]]);
    assert.deepEqual([known.n, known.exact], [1, true]);
  });
}

test('nothing is signed for a form that agents would not take', async (t) => {
  const it = ownerOver(t, keyed(owner), { 'wss://one/': {} });
  for (const bad of [{ slug: 'mem/sys/x' }, { base: null }, { text: '' }, { propose: 'delete' }, { slug: 'Mem/A' }]) {
    await assert.rejects(it.propose(agent.pubkey, form(it, bad)), (error) => typeof error.word === 'string' && !error.message.includes('new'));
  }
});

test('answers stand beside their proposals; one of an older version is marked', async (t) => {
  const one = proposal(1, wants), two = proposal(2, wants, 2001), three = proposal(3, wants, 2002), memory = engram(agent, owner, 'mem/x', says(one.id), 3000);
  const events = [one, two, three, memory, answer(1, says(one.id)), answer(2, says('cd'.repeat(32), 'rejected')), answer(3, 'gibberish')];
  for (const signer of [keyed(owner), outside(owner)]) {
    const { rows, known } = await ownerOver(t, signer, { 'wss://one/': { events } }).proposals(agent.pubkey, {});
    assert.deepEqual(rows.map((r) => r.id), [idOf(3), idOf(2), idOf(1)]);
    assert.deepEqual(rows.map((r) => r.answer && [r.answer.answer, r.answer.reason, r.answer.older]), [null, ['rejected', 'so it is', true], ['accepted', 'so it is', false]]);
    assert.equal(known.exact, true);
  }
});

test('no more is decrypted than it takes to find the answers', async (t) => {
  const signer = outside(owner), one = proposal(1, wants);
  const since = Array.from({ length: 20 }, (_, i) => engram(agent, owner, `mem/n${i}`, 'x', 2100 + i));
  const events = [one, ...since, answer(1, says(one.id), 2115), answer(7, says('cd'.repeat(32)), 2200)];
  const { rows, known } = await ownerOver(t, signer, { 'wss://one/': { events } }).proposals(agent.pubkey, {});
  assert.deepEqual([rows.length, rows[0].answer?.answer, known.exact], [1, 'accepted', true]);
  assert.ok(signer.asked.length <= 8, `${signer.asked.length} decrypted`); // the proposal, an answer to another, five memories, its answer
});

test('an agent with a slow clock is heard', async (t) => {
  const one = proposal(1, wants, 100_000);
  const { rows } = await ownerOver(t, keyed(owner), { 'wss://one/': { events: [one, answer(1, says(one.id), 99_000)] } }).proposals(agent.pubkey, {});
  assert.equal(rows[0].answer?.answer, 'accepted');
});

test('a forged proposal hides none; what is none is listed with its reason', async (t) => {
  const real = proposal(1, wants), lies = [forged(real, { created_at: 9000 })];
  const moved = owner.sign({ ...proposal(2, wants), tags: [['d', '0d'.repeat(32)], ['p', agent.pubkey]] });
  const relays = { 'wss://liar/': { events: lies }, 'wss://one/': { events: [real, moved, proposal(3, 'no proposal'), engram(owner, agent, 'mem/own', 'a memory of the owner as an agent', 1000)] } };
  const { rows, known } = await ownerOver(t, outside(owner), relays).proposals(agent.pubkey, {});
  assert.deepEqual(rows.map((r) => r.unreadable).sort(), ['no-proposal', 'wrong-address', null].sort());
  assert.deepEqual([rows.find((r) => r.unreadable === null).event.id, known.n, known.why], [real.id, 1, ['unreadable']]);
});

test('with a silent relay there are at least so many', async (t) => {
  const { rows, known } = await ownerOver(t, keyed(owner), { 'wss://one/': { events: [proposal(1, wants)] }, 'wss://mute/': { silent: true } }).proposals(agent.pubkey, {});
  assert.deepEqual([rows.length, known.n, known.exact, known.details[0].relay], [1, 1, false, 'wss://mute/']);
});
