import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { Tree, judge, linked, parseLink, parseUnit } from '../../../internal/web/src/chain.mjs';
import { parseBody } from '../../../internal/web/src/nipae/body.mjs';
import { chance, fastest, table } from './table.mjs';

const { cases } = table('web-chain.json');
const opened = ({ id, at, body }) => ({ event: { id, created_at: at }, ...parseBody(body) });

test('logs are judged as Go judges them', async () => {
  assert.ok(cases.length >= 100);
  for (const [i, c] of cases.entries()) {
    const { logs, unchained } = await judge(c.events.map(opened));
    const of = (log, kind) => log.findings.filter((f) => f.kind === kind).flatMap(({ n, to }) => Array.from({ length: to - n + 1 }, (_, i) => n + i));
    const got = logs.map((l) => ({ w: l.w, last: l.last, forked: of(l, 'forked'), root: of(l, 'root'), gap: of(l, 'gap') })).sort((a, b) => (a.w < b.w ? -1 : 1));
    assert.deepEqual(got, c.logs, `case ${i}`);
    assert.equal(unchained, c.unchained, `case ${i}`);
    for (const log of logs) {
      const first = Math.min(...log.findings.map((f) => f.n), log.last + 1);
      assert.equal(log.wholeTo, first > 0 ? first - 1 : null, `case ${i}`);
    }
  }
});

test('the order in which versions come says nothing', async () => {
  const random = chance(3);
  for (const c of cases) {
    const events = c.events.map(opened);
    const one = await judge(events);
    for (let i = events.length - 1; i > 0; i--) {
      const j = random(i + 1);
      [events[i], events[j]] = [events[j], events[i]];
    }
    const sorted = ({ logs, unchained }) => ({ unchained, logs: [...logs].sort((a, b) => (a.w < b.w ? -1 : 1)) });
    assert.deepEqual(sorted(await judge(events)), sorted(one));
  }
});

// RFC 6962, 2.1, as it is written there.
function root(leaves) {
  const sha = (...parts) => createHash('sha256').update(Buffer.concat(parts)).digest();
  if (!leaves.length) return sha();
  if (leaves.length === 1) return sha(Buffer.of(0), leaves[0]);
  const k = 2 ** Math.ceil(Math.log2(leaves.length) - 1);
  return sha(Buffer.of(1), root(leaves.slice(0, k)), root(leaves.slice(k)));
}

test('the tree has the root of RFC 6962 at every size', () => {
  const tree = new Tree();
  const leaves = [];
  for (let n = 0; n < 70; n++) {
    assert.equal(tree.root(), root(leaves).toString('hex'), `${n}`);
    leaves.push(createHash('sha256').update(`${n}`).digest());
    tree.append(leaves[n].toString('hex'));
  }
});

/** A version with a link that names a number far ahead. */
function far(w, n, more = {}) {
  const id = createHash('sha256').update(`${w} ${n}`).digest('hex');
  return { event: { id, created_at: 5 }, slug: 'mem/a', text: 'x', members: { chain: { w, n, t: 5, prev: 'b'.repeat(64), root: id, ...more } } };
}

test('a number far ahead costs nothing, and all below it is one gap', async () => {
  const last = Number.MAX_SAFE_INTEGER;
  const { logs: [log] } = await judge([far('00000000', last, { open: [[10, last - 3]] })]);
  assert.deepEqual(log, { w: '00000000', last, wholeTo: null, findings: [{ kind: 'gap', n: 0, to: 9 }, { kind: 'gap', n: last - 2, to: last - 2 }, { kind: 'gap', n: last - 1, to: last - 1 }] });
  assert.equal((await judge([{ ...far('00000000', 9), members: Object.create({ chain: far('00000000', 9).members.chain }) }])).unchained, 1);
});

test('what it takes is by how much was written, not by the numbers in it', async () => {
  const spans = Array.from({ length: 16 }, (_, i) => [i * 20_000, i * 20_000 + 19_998]);
  const logs = Array.from({ length: 2000 }, (_, i) => far(i.toString(16).padStart(8, '0'), 400_000)), one = Array.from({ length: 2000 }, (_, i) => far('00000000', 400_000 + i, { open: spans }));
  for (const versions of [logs, one]) {
    let judged = [];
    const ms = await fastest(async () => { judged = (await judge(versions)).logs; }, 3000);
    assert.ok(ms <= 3000, `${versions.length} versions take ${ms} ms`);
    assert.ok(judged.every((log) => log.findings.length < 5000));
  }
});

test('whoever leaves ends the judging, which lets others come between', async () => {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 1);
  const many = Array.from({ length: 60_000 }, (_, i) => far((i % 60).toString(16).padStart(8, '0'), 1 + Math.floor(i / 60)));
  await assert.rejects(judge(many, stop.signal), { name: 'AbortError' });
});

test('what is no link and no unit is none', () => {
  const id = 'a'.repeat(64);
  const good = { w: '0123abcd', n: 0, t: 1, root: id };
  assert.ok(parseLink(good));
  for (const bad of [null, 1, 'x', [], [good], { ...good, n: '0' }, { ...good, n: 0.5 }, { ...good, n: 2 ** 53 + 2 }, { ...good, w: 'ABCD0123' }, { ...good, root: id.slice(1) }, { ...good, void: Array(33).fill([0, id]) },
    { ...good, n: 2, prev: id, void: 'x' }, { ...good, n: 2, prev: id, open: [[1, 0]] }, { ...good, n: 2, prev: id, open: [0] }, { ...good, after: [null] }, { ...good, after: [{ w: 'x', n: 0, id }] }]) assert.equal(parseLink(bad), null, JSON.stringify(bad));
  const text = `engramd log 1\nwriter 0123abcd\nfirst 0\n${id}\n`;
  assert.deepEqual(parseUnit('mem/sys/log/0123abcd/0', text)?.ids, [id]);
  for (const slug of ['mem/sys/log/0123abcd/1', 'mem/sys/log/0123abcd/', 'mem/a']) assert.equal(parseUnit(slug, text), null);
});

test('what the log needs of a body is little, and never deep', () => {
  const id = 'a'.repeat(64), deep = [[[[]]]];
  const chain = { w: '0123abcd', n: 0, t: 1, root: id, after: [{ w: '00000000', n: 3, id, deep }], deep };
  const kept = linked({ other: deep, chain });
  assert.ok(!JSON.stringify(kept).includes('deep'));
  assert.deepEqual(parseLink(kept.chain), parseLink(chain));
  const more = { w: '0123abcd', n: 9, t: 1, prev: id, root: id, void: [[3, id]], open: [[4, 5]] };
  assert.deepEqual(parseLink(linked({ chain: more }).chain), parseLink(more));
  for (const none of [{}, { chain: deep }, { chain: { ...chain, t: deep } }, Object.create({ chain })]) assert.deepEqual(linked(none), {});
});
