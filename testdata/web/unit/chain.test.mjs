import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { Tree, judge, parseLink, parseUnit } from '../../../internal/web/src/chain.mjs';
import { parseBody } from '../../../internal/web/src/nipae/body.mjs';
import { chance, fastest, table } from './table.mjs';

const { cases } = table('web-chain.json');
const opened = ({ id, at, body }) => ({ event: { id, created_at: at }, ...parseBody(body) });

test('logs are judged as Go judges them', () => {
  assert.ok(cases.length >= 100);
  for (const [i, c] of cases.entries()) {
    const { logs, unchained } = judge(c.events.map(opened));
    const of = (log, kind) => log.findings.filter((f) => f.kind === kind).map((f) => f.n);
    const got = logs.map((l) => ({ w: l.w, last: l.last, forked: of(l, 'forked'), root: of(l, 'root'), gap: of(l, 'gap') })).sort((a, b) => (a.w < b.w ? -1 : 1));
    assert.deepEqual(got, c.logs, `case ${i}`);
    assert.equal(unchained, c.unchained, `case ${i}`);
    for (const log of logs) {
      const first = Math.min(...log.findings.map((f) => f.n), log.last + 1);
      assert.equal(log.wholeTo, first > 0 ? first - 1 : null, `case ${i}`);
    }
  }
});

test('the order in which versions come says nothing', () => {
  const random = chance(3);
  for (const c of cases) {
    const events = c.events.map(opened);
    const one = judge(events);
    for (let i = events.length - 1; i > 0; i--) {
      const j = random(i + 1);
      [events[i], events[j]] = [events[j], events[i]];
    }
    const sorted = ({ logs, unchained }) => ({ unchained, logs: [...logs].sort((a, b) => (a.w < b.w ? -1 : 1)) });
    assert.deepEqual(sorted(judge(events)), sorted(one));
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

test('a number far ahead costs no more than the numbers that are looked at', () => {
  const id = 'a'.repeat(64);
  const far = { w: '00000000', n: Number.MAX_SAFE_INTEGER, t: 5, prev: id, root: id, open: [[0, Number.MAX_SAFE_INTEGER - 1]] };
  const event = { event: { id, created_at: 5 }, slug: 'mem/a', text: 'x', members: { chain: far } };
  assert.ok(fastest(() => judge([event]), 3) < 3000);
  assert.equal(judge([event]).logs[0].last, Number.MAX_SAFE_INTEGER);
  assert.equal(judge([{ ...event, members: Object.create({ chain: far }) }]).unchained, 1);
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
