// What follows a page, without a relay.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pager } from '../../../internal/web/src/nostr/paging.mjs';

const event = (n, created_at) => ({ id: n.toString(16).padStart(64, '0'), pubkey: '', created_at, kind: 30174, tags: [], content: '', sig: '' });
const engrams = { kinds: [30174], authors: ['a'] };

/** Asks a relay that keeps these, newest first, with a cap of its own. */
function ask(pager, kept, { cap = 1000, hint = () => undefined } = {}) {
  const asked = [];
  while (!pager.done) {
    const f = pager.next();
    asked.push(f);
    assert.ok(asked.length < 200, 'pages end');
    const fit = kept.filter(e => (f.until === undefined || e.created_at <= f.until) && (f.since === undefined || e.created_at >= f.since));
    const page = fit.slice(0, Math.min(cap, f.limit));
    pager.turn(page, hint(page, fit));
  }
  return asked;
}

test('all that is there comes through small pages', () => {
  const kept = Array.from({ length: 95 }, (_, n) => event(n, 10_000 - Math.floor(n / 3)));
  const pager = new Pager(engrams, 1000, false, 1e9);
  ask(pager, kept, { cap: 10 });
  assert.deepEqual([pager.found.size, pager.cut], [95, undefined]);
});

test('a second with more than a page is cut, and what is before it still comes', () => {
  const kept = [event(1, 900), ...Array.from({ length: 30 }, (_, n) => event(10 + n, 800)), event(2, 700), event(3, 600)];
  const pager = new Pager(engrams, 1000, false, 1e9);
  ask(pager, kept, { cap: 10 });
  assert.equal(pager.cut, 'no-progress');
  assert.ok([1, 2, 3].every(n => pager.found.has(event(n, 0).id)));
});

test('what says "more" and gives nothing is cut, also when empty', () => {
  for (const kept of [[], [event(1, 5)]]) {
    const pager = new Pager(engrams, 1000, false, 1e9);
    ask(pager, kept, { hint: () => 'more' });
    assert.equal(pager.cut, 'no-progress');
  }
});

test('bounds: more than the page takes, and more than was asked for', () => {
  const kept = Array.from({ length: 1200 }, (_, n) => event(n, 10_000 - n));
  const bound = new Pager(engrams, 700, false, 1e9), chosen = new Pager(engrams, 3, true, 1e9);
  ask(bound, kept);
  ask(chosen, kept);
  assert.deepEqual([bound.found.size, bound.cut, chosen.found.size, chosen.cut], [700, 'too-many', 3, 'asked-for-no-more']);
});

test('a memory that is replaced between two pages is found in the end', () => {
  const old = Array.from({ length: 40 }, (_, n) => event(n, 20_000 - n));
  const pager = new Pager(engrams, 1000, false, 20_001);
  let kept = old, pages = 0;
  while (!pager.done) {
    const f = pager.next();
    const fit = kept.filter(e => (f.until === undefined || e.created_at <= f.until) && (f.since === undefined || e.created_at >= f.since));
    pager.turn(fit.slice(0, 10), fit.length > 10 ? 'more' : 'finish');
    if (++pages === 1) kept = [event(999, 20_005), ...old.slice(0, 39)]; // the oldest is written anew
  }
  assert.equal(pager.cut, undefined);
  assert.ok(pager.found.has(event(999, 0).id));
});

test('one event of one address needs no second page', () => {
  assert.equal(ask(new Pager({ kinds: [30078], authors: ['a'], '#d': ['x'] }, 20, true, 1e9), [event(1, 5)]).length, 1);
});

test('a relay that goes on giving what it gave is left', () => {
  const pager = new Pager({ kinds: [1] }, 1000, false, 1e9);
  let pages = 0;
  for (; !pager.done; pages++) {
    assert.ok(pages < 100);
    pager.turn([event(1, 50), event(2, 50), event(3, 40)].filter(e => pager.next().until === undefined || e.created_at <= pager.next().until), 'more');
  }
  assert.equal(pager.cut, 'no-progress');
});
