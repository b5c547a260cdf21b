import assert from 'node:assert/strict';
import { test } from 'node:test';
import { address, addressIn, conversationKey, proposalAddress } from '../../../internal/web/src/nipae/address.mjs';
import { Unreadable } from '../../../internal/web/src/nipae/body.mjs';
import { heads, newer } from '../../../internal/web/src/nipae/head.mjs';
import { envelopeFault, open, openedBySigner, paddedSize } from '../../../internal/web/src/nipae/open.mjs';
import { eventId, parseEvent, tag, verify } from '../../../internal/web/src/nostr/event.mjs';
import { chance, table } from './table.mjs';

const { pair: [pair], cases, ids, keys, sizes } = table('web-events.json');
const addresses = table('proposal-address.json');
const bytes = (hex) => new Uint8Array(Buffer.from(hex, 'hex'));
const hex = (b) => Buffer.from(b).toString('hex');
const BODY = ['too-large', 'not-json', 'no-slug', 'no-text', 'not-utf8', 'wrong-address'];

test('events are taken for what Go takes them for', () => {
  const key = bytes(pair.key);
  assert.ok(cases.length >= 100);
  for (const [i, c] of cases.entries()) {
    const what = `case ${i}, ${c.name}`;
    const event = parseEvent(c.event);
    assert.ok(event, what);
    let opened = null, word = '';
    try {
      opened = open(key, event, pair.agent, pair.owner);
    } catch (error) {
      assert.ok(error instanceof Unreadable, `${what}: ${error.stack}`);
      word = error.word;
    }
    if (c.fault === 'body') assert.ok(BODY.includes(word), `${what}: ${word}`);
    else assert.equal(word, c.fault ?? '', what);
    assert.equal(opened?.slug, c.slug, what);
    if (opened) {
      assert.equal(opened.text, c.text ?? null, what);
      assert.equal(opened.addressOk, true);
    }
    assert.equal(envelopeFault(event, pair.agent, pair.owner) === null, !['not-engram', 'not-payload'].includes(c.fault), what);
  }
});

test('both parties have the key, and the addresses', () => {
  assert.equal(hex(conversationKey(bytes(pair.secret), pair.owner)), pair.key);
  assert.equal(hex(conversationKey(bytes(pair.owner_secret), pair.agent)), pair.key);
  for (const k of keys) {
    const key = conversationKey(bytes(k.secret), k.peer);
    assert.equal(hex(key), k.key);
    assert.equal(address(key, k.slug), k.d);
    assert.equal(address(key, 'core'), k.core);
  }
});

test('proposals have the addresses of the vectors', () => {
  const all = addresses.addresses;
  assert.ok(all.length >= 3);
  const key = bytes(pair.key);
  for (const a of all) {
    assert.equal(proposalAddress(a.proposer, a.agent, a.id), a.d);
    assert.equal(addressIn(key, a.proposer, a.agent, `mem/proposals/${a.id}`), a.d);
    assert.equal(addressIn(key, a.agent, a.agent, `mem/proposals/${a.id}`), address(key, `mem/proposals/${a.id}`));
    assert.throws(() => proposalAddress(a.agent, a.agent, a.id));
    for (const id of ['', a.id.slice(1), `${a.id}0`, a.id.replace(/.$/, 'G'), `${a.id}\n`]) assert.throws(() => proposalAddress(a.proposer, a.agent, id));
  }
});

test('ids and signatures are those of Go', () => {
  for (const e of ids) {
    const event = parseEvent(e);
    assert.ok(event);
    assert.equal(eventId(event), e.id, JSON.stringify(e));
    assert.ok(verify(event));
    assert.ok(!verify({ ...event, content: `${event.content} ` }));
    assert.ok(!verify({ ...event, created_at: event.created_at + 1 }));
  }
  assert.ok(!verify({ .../** @type {any} */ (parseEvent(ids[0])), pubkey: 'f'.repeat(64) }), 'no point of the curve');
});

test('lengths are padded as NIP-44 pads them', () => {
  assert.ok(sizes.length > 100);
  for (const [n, padded] of sizes) assert.equal(paddedSize(n), padded, `${n}`);
});

test('what is no event is none', () => {
  const good = cases[0].event;
  assert.deepEqual(parseEvent({ ...good, more: 1 }), good);
  const other = [
    null, undefined, 7, 'event', [], [good], { ...good, id: undefined }, { ...good, id: good.id.toUpperCase() }, { ...good, id: [good.id] }, { ...good, pubkey: `${good.pubkey}00` },
    { ...good, sig: good.sig.slice(1) }, { ...good, sig: null }, { ...good, created_at: '1' }, { ...good, created_at: -1 }, { ...good, created_at: 1.5 }, { ...good, created_at: 2 ** 53 }, { ...good, created_at: NaN },
    { ...good, kind: -1 }, { ...good, kind: 65536 }, { ...good, kind: '1' }, { ...good, tags: null }, { ...good, tags: {} }, { ...good, tags: ['d'] }, { ...good, tags: [['d', 1]] }, { ...good, tags: [['d', null]] },
    { ...good, tags: [[['d']]] }, { ...good, tags: Array(5001).fill(['t']) }, { ...good, tags: [Array(20_001).fill('t')] }, { ...good, tags: [['d', '\ud800']] }, { ...good, content: 7 }, { ...good, content: '\udc00' },
    { ...good, content: 'x'.repeat((2 << 20) + 1) }, Object.create(good, { id: { value: 7 } }),
  ];
  for (const [i, value] of other.entries()) assert.equal(parseEvent(value), null, `${i}`);
  assert.equal(tag(good, 'p'), pair.owner);
  assert.equal(tag(good, 'x'), undefined);
  assert.equal(tag({ tags: [['d'], ['d', 'x']] }, 'd'), 'x');
});

test('of several events the newest is in force, and of one second the lowest id, in whatever order they come', () => {
  const random = chance(5);
  for (let round = 0; round < 200; round++) {
    const events = Array.from({ length: 1 + random(12) }, (_, i) => ({ ...cases[0].event, id: `${random(4)}${i.toString(16)}`.padStart(64, '0'), created_at: random(3), tags: [['d', `${random(3)}`]], pubkey: `${random(2)}` }));
    const found = heads(events);
    for (const e of events) {
      const rivals = events.filter((o) => o.pubkey === e.pubkey && o.tags[0][1] === e.tags[0][1]);
      const best = rivals.reduce((a, b) => (b.created_at > a.created_at || b.created_at === a.created_at && b.id < a.id ? b : a));
      assert.equal(found.get(`${e.kind}:${e.pubkey}:${e.tags[0][1]}`), best);
      assert.equal([...rivals].sort(newer)[0], best);
    }
    assert.deepEqual(new Set(heads([...events].reverse()).values()), new Set(found.values()));
  }
});

test('behind a signer the address is not known', () => {
  const opened = openedBySigner(cases[0].event, '{"slug":"mem/elsewhere","value":"x"}');
  assert.deepEqual([opened.slug, opened.text, opened.addressOk], ['mem/elsewhere', 'x', false]);
  assert.throws(() => openedBySigner(cases[0].event, '{"slug":"mem/a"}'), Unreadable);
});
