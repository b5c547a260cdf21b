// What the page asks for, at a real relay, with a pasted key in its Worker; engramctl is
// on the other side.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { Owner } from '../../../internal/web/src/owner/pool.mjs';
import { pastedSigner } from '../../../internal/web/src/signers/pasted.mjs';
import { household, planted } from '../rig/data.mjs';
import { nsecOf } from '../rig/flow.mjs';
import { startRelay } from '../rig/relay.mjs';
import { NodeWorker } from '../rig/worker.mjs';

const exact = known => { assert.deepEqual([known.exact, known.why, known.details], [true, [], []]); return known.n; };

/** The page of a party, at these relays. */
async function page(t, party, relays) {
  const pasted = pastedSigner(new NodeWorker(t));
  await pasted.key(await nsecOf(party));
  const owner = new Owner({ signer: pasted.signer, relays, WebSocket, silence: 60_000 });
  t.after(() => owner.close());
  return owner;
}
/** All memories of an agent, once they are opened. */
function read(owner, agent) {
  return new Promise((resolve, reject) => {
    let memories;
    const clock = setTimeout(() => reject(new Error('not opened')), 300_000);
    const look = () => { if (memories?.done) { clearTimeout(clock); resolve(memories); } };
    memories = owner.memories(agent.hex, { onChange: look });
    look();
  });
}
const sha = text => createHash('sha256').update(text).digest('hex');

test('the owner\'s page and engramctl see the same', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const there = await household(relay, { contracts: true });
  const { agent, second, contract } = there;
  const owner = await page(t, there.owner, [relay.url]);

  await t.test('agents: the approved, and who else writes', async () => {
    const got = await owner.agents({});
    assert.equal(exact(got.known), 1);
    assert.deepEqual(got.rows.map(r => [r.pubkey, r.approved]), [[agent.hex, true]]);
    assert.ok(exact(got.rows[0].count) >= 5 && got.rows[0].newest > 0);
    const others = await owner.others({});
    assert.deepEqual(others.rows.map(r => r.pubkey), [second.hex]);
    assert.equal(others.until, null);
  });

  await t.test('approve and revoke: engramctl reads the list, and unknown tags stay', async () => {
    const approved = async () => JSON.parse(await there.owner.ctl(['agents', 'ls', '--json'])).agents.filter(a => a.approved).map(a => a.pubkey).sort();
    const list = async () => (await owner.relays[0].query({ kinds: [30078], authors: [owner.pubkey] })).events[0];
    // Another program's list, a little ahead of this clock, with what the page does not know.
    const old = await list();
    const at = Math.floor(Date.now() / 1000) + 300;
    const theirs = await owner.sign({ kind: 30078, created_at: at, tags: [...old.tags, ['unknown', 'tag', '7']], content: 'kept' });
    assert.equal((await owner.relays[0].publish(theirs)).ok, true);
    assert.deepEqual(await owner.approve(second.hex), { ok: true });
    assert.deepEqual(await approved(), [agent.hex, second.hex].sort());
    assert.deepEqual((await owner.agents({})).rows.map(r => r.pubkey).sort(), [agent.hex, second.hex].sort());
    const mine = await list();
    assert.deepEqual([mine.created_at, mine.content, mine.tags], [at + 1, 'kept', [...theirs.tags, ['p', second.hex]]]);
    assert.deepEqual(await owner.approve(second.hex), { ok: true });
    assert.equal((await list()).id, mine.id, 'again writes nothing');
    assert.deepEqual(await owner.revoke(second.hex), { ok: true });
    assert.deepEqual(await approved(), [agent.hex]);
    assert.deepEqual((await list()).tags, theirs.tags);
  });

  await t.test('memories: every head with its text, removed ones without', async () => {
    const memories = await read(owner, agent);
    const bySlug = new Map(memories.entries.map(e => [e.slug, e]));
    assert.equal(memories.known.exact, true);
    assert.ok(bySlug.get('mem/people/ana').text.includes(planted));
    assert.deepEqual([bySlug.get('mem/people/ana').address, bySlug.get('mem/people/ana').utf8], ['ok', 'ok']);
    assert.equal(bySlug.get('mem/gone').text, null);
    assert.ok(memories.entries.every(e => e.unreadable === null && !e.conflict));
    for (const slug of ['core', 'mem/people/ana', 'mem/projects/atlas', 'mem/journal/2026-05-04']) {
      const shown = JSON.parse(await agent.mem(there.owner, 'mem', 'get', slug, '--json'));
      assert.equal(bySlug.get(slug).text, shown.text ?? shown.value, slug);
    }
  });

  await t.test('versions of one memory, the head first', async () => {
    const entry = (await read(owner, agent)).entries.find(e => e.slug === 'mem/people/ana');
    const got = await owner.versions(agent.hex, entry, {});
    assert.equal(exact(got.known), 2);
    assert.deepEqual(got.versions.map(v => v.text.includes('Spanish')), [true, false]);
    assert.deepEqual(got.kept, [{ relay: relay.url, keeps: true }]);
  });

  await t.test('chain: whole to the last number', async () => {
    const got = await owner.chain(agent.hex, {});
    assert.equal(got.known.exact, true);
    assert.equal(got.logs.length, 1);
    assert.deepEqual(got.logs[0].findings, []);
    assert.ok(got.logs[0].last >= 6);
    assert.equal(got.logs[0].wholeTo, got.logs[0].last);
  });

  await t.test('proposals: accepted, rejected, and written as Go reads them', async () => {
    const why = 'she said "so" — with a \\ and a 日本 #tag: yes';
    const text = 'Ana prefers Portuguese.\n\n"quoted" \\ 日本\n';
    const made = await owner.propose(agent.hex, { propose: 'write', slug: 'mem/people/bo', base: null, why, text });
    assert.deepEqual(made.relays.map(r => r.ok), [true]);
    const atlas = (await read(owner, agent)).entries.find(e => e.slug === 'mem/projects/atlas');
    const removal = await owner.propose(agent.hex, { propose: 'delete', slug: 'mem/projects/atlas', base: owner.baseOf(atlas.text), why: '' });
    const before = await owner.proposals(agent.hex, {});
    assert.equal(exact(before.known), 2);
    assert.ok(before.rows.every(r => r.answer === null && r.unreadable === null));
    const id = row => row.event.id;
    const [written, removed] = [made, removal].map(m => before.rows.find(r => r.id === m.id));
    assert.deepEqual([written.propose, written.slug, written.why, written.text], ['write', 'mem/people/bo', why, text]);
    const shown = await agent.mem(there.owner, 'proposals', 'show', id(written));
    assert.ok(shown.includes('Ana prefers Portuguese.') && shown.includes('日本'), shown);
    await agent.mem(there.owner, 'proposals', 'accept', id(written));
    await agent.mem(there.owner, 'proposals', 'reject', id(removed), 'it is still needed');
    const after = new Map((await owner.proposals(agent.hex, {})).rows.map(r => [r.id, r.answer]));
    assert.equal(after.get(made.id).answer, 'accepted');
    assert.equal(after.get(made.id).older, false);
    assert.deepEqual([after.get(removal.id).answer, after.get(removal.id).reason.trim()], ['rejected', 'it is still needed']);
    const bo = (await read(owner, agent)).entries.find(e => e.slug === 'mem/people/bo');
    assert.ok(bo.text.endsWith(text) || bo.text.includes('Ana prefers Portuguese.'));
    assert.deepEqual([bo.unit.trust, bo.event.id, sha(bo.text)], ['told', after.get(made.id).event, after.get(made.id).hash]);
  });

  await t.test('contracts: every signature checked, in order, sealed ones marked', async () => {
    const all = await owner.contracts({});
    assert.equal(exact(all.known), 1);
    assert.deepEqual([all.rows[0].id, all.rows[0].status, all.rows[0].amount_sats], [contract.id, 'disputed', 5000]);
    const one = await owner.contract(contract.id, {});
    assert.deepEqual(one.transitions.map(m => [m.to, m.signature]).slice(-3), [['accepted', 'ok'], ['submitted', 'ok'], ['disputed', 'ok']]);
    assert.equal(one.transitions.at(-1).note, 'Half of the figures have no source');
    assert.deepEqual(one.entries.map(e => [e.author, e.signature, e.sealed]),
      [[there.owner.hex, 'ok', false], [contract.worker.hex, 'ok', true], [contract.worker.hex, 'ok', false]]);
    assert.deepEqual(one.entries.map(e => e.n), one.entries.map(e => e.n).sort((a, b) => a - b));
    await assert.rejects(owner.contract('ab'.repeat(32), {}), error => typeof error.word === 'string');
  });

  await t.test('export: texts, signed lines, and secrets redacted', async () => {
    await agent.mem(there.owner, 'mem', 'set', 'keys/api', `The token is ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)} here.`, '--allow-secret');
    const open = await owner.exportOf(agent.hex, 'markdown', { redact: false });
    const hidden = await owner.exportOf(agent.hex, 'markdown', { redact: true });
    const has = (zip, text) => Buffer.from(zip.bytes).includes(text);
    assert.ok(has(open, 'ghp_') && has(open, 'people/ana.md') && !has(open, 'gone.md'));
    assert.ok(!has(hidden, 'ghp_') && hidden.redacted >= 1 && hidden.files === open.files);
    const signed = await owner.exportOf(agent.hex, 'jsonl', { redact: false });
    assert.ok(has(signed, 'engrams.jsonl') && !has(signed, planted) && signed.files > open.files);
  });

  await t.test('a stranger\'s key sees none of it, and says so exactly', async () => {
    const stranger = await page(t, second, [relay.url]);
    const memories = await read(stranger, agent);
    assert.deepEqual([memories.total, memories.known.exact], [0, true]);
    assert.deepEqual((await stranger.contracts({})).rows, []);
  });
});

test('two relays: what one lacks, and what is not written when one is gone', { timeout: 600_000 }, async t => {
  const [first, other] = await Promise.all([startRelay(t), startRelay(t)]);
  const there = await household(first);
  const owner = await page(t, there.owner, [first.url, other.url]);
  const rows = await owner.relaysOf(there.agent.hex);
  assert.deepEqual(rows.map(r => [r.state, r.has > 0, r.lacks > 0]), [['complete', true, false], ['complete', false, true]]);
  assert.equal(rows[1].lacks, rows[0].has);
  assert.deepEqual(await owner.approve(there.second.hex), { ok: true });
  await other.stop();
  const refused = await owner.revoke(there.second.hex);
  assert.deepEqual([refused.ok, refused.relays], [false, [other.url]]);
  assert.deepEqual((await owner.agents({})).rows.map(r => r.pubkey).sort(), [there.agent.hex, there.second.hex].sort(), 'nothing was sent');
  const memories = await read(owner, there.agent);
  assert.deepEqual([memories.known.exact, memories.known.why], [false, ['failed']]);
  assert.equal(memories.known.details[0].relay, other.url);
  assert.ok(memories.known.n > 0);
});
