import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lines } from '../../../internal/web/src/diff.mjs';
import { chance, fastest } from './table.mjs';

const of = (diff, ...ops) => diff.filter((l) => ops.includes(l.op)).map((l) => l.text).join('\n');

/** How many lines two texts have in common, by the table that everybody knows. */
function common(a, b) {
  let row = Array(b.length + 1).fill(0);
  for (const x of a) {
    const next = [0];
    b.forEach((y, j) => next.push(x === y ? row[j] + 1 : Math.max(row[j + 1], next[j])));
    row = next;
  }
  return row[b.length];
}

test('a diff gives both texts back, and keeps as many lines as there are in common', () => {
  const random = chance(1);
  for (let i = 0; i < 3000; i++) {
    const text = () => Array.from({ length: random(12) }, () => 'abcd'[random(4)]).join('\n');
    const a = text(), b = text();
    const diff = lines(a, b);
    assert.equal(of(diff, 'same', 'del'), a);
    assert.equal(of(diff, 'same', 'add'), b);
    assert.equal(diff.filter((l) => l.op === 'same').length, common(a.split('\n'), b.split('\n')), JSON.stringify([a, b]));
  }
});

test('what is the same is the same', () => {
  assert.deepEqual(lines('', ''), [{ op: 'same', text: '' }]);
  assert.deepEqual(lines('a', 'b'), [{ op: 'del', text: 'a' }, { op: 'add', text: 'b' }]);
  assert.deepEqual(lines('a\nb\nc', 'a\nx\nc'), [{ op: 'same', text: 'a' }, { op: 'del', text: 'b' }, { op: 'add', text: 'x' }, { op: 'same', text: 'c' }]);
});

test('texts that have nothing in common take bounded work', async () => {
  const text = (c) => Array.from({ length: 32_768 }, (_, i) => `${c}${i % 7}`).join('\n');
  for (const [a, b] of [[text('a'), text('b')], ['\n'.repeat(65_535), 'x'], [text('a'), `${text('b')}\n${text('a')}`], [Array.from({ length: 20_000 }, (_, i) => i % 2).join('\n'), Array.from({ length: 20_000 }, (_, i) => i % 3).join('\n')]]) {
    let diff = [];
    assert.ok(await fastest(() => { diff = lines(a, b); }, 1500) <= 1500);
    assert.equal(of(diff, 'same', 'del'), a);
    assert.equal(of(diff, 'same', 'add'), b);
  }
});
