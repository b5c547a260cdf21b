import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEntry, checkMove } from '../../../internal/web/src/contract.mjs';
import { finalizeEvent } from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/pure.js';
import { table } from './table.mjs';

const { pair: [pair], cases } = table('web-events.json');
const ID = '7a3f1b42-8a5e-4b70-b0c5-1f4f3d1a2b3c';
const payload = cases[0].event.content;
const secret = new Uint8Array(Buffer.from(pair.secret, 'hex'));
const signed = (kind, content, tags = [['d', ID], ['p', pair.owner], ['t', 'message']]) => JSON.parse(JSON.stringify(finalizeEvent({ kind, created_at: 1700000000, tags, content }, secret)));
const entry = (content, more = {}) => JSON.stringify({ type: 'message', visibility: 'shared', content, ...more });
const row = (event, more = {}) => ({ event, type: 'message', visibility: 'shared', content: 'hello', encrypted: false, ...more });
const sign = (r, author = pair.agent) => checkEntry(r, ID, author).signature;

test('an entry that is what was signed is so', () => {
  const event = signed(30090, entry('hello'));
  assert.deepEqual(checkEntry(row(event), ID, pair.agent), { signature: 'ok', event, sealed: false });
  assert.equal(sign(row(event), ''), 'ok', 'of an author that is not known');
  assert.equal(sign(row(undefined)), 'none');
  assert.equal(sign(row(null)), 'none');
});

test('an entry that is another, or says another thing, is bad', () => {
  const good = signed(30090, entry('hello'));
  for (const [name, r, author] of [
    ['text', row(good, { content: 'hello!' })], ['no text', row(good, { content: undefined })], ['type', row(good, { type: 'deliverable' })], ['visibility', row(good, { visibility: 'poster_only' })], ['said to be sealed', row(good, { encrypted: true })],
    ['author', row(good), pair.owner], ['kind', row(signed(30091, entry('hello')))], ['note', row(signed(1, entry('hello')))], ['contract', row(signed(30090, entry('hello'), [['d', 'other'], ['t', 'message']]))],
    ['two contracts', row(signed(30090, entry('hello'), [['d', ID], ['d', 'other'], ['t', 'message']]))], ['no contract', row(signed(30090, entry('hello'), [['t', 'message']]))], ['no type', row(signed(30090, entry('hello'), [['d', ID]]))],
    ['no object', row(signed(30090, 'hello'))], ['no text in it', row(signed(30090, '{"type":"message"}'), { content: undefined })], ['a text twice', row(signed(30090, '{"content":"evil","content":"hello"}'))], ['a list', row(signed(30090, '["hello"]'))],
    ['id', row({ ...good, id: 'a'.repeat(64) })], ['signature', row({ ...good, sig: good.sig.replace(/^./, (c) => (c === '0' ? '1' : '0')) })], ['changed', row({ ...good, created_at: 1 })], ['no event', row({})], ['text for an event', row('x')],
  ]) assert.equal(sign(r, author), 'bad', name);
});

test('what is sealed is told from the payload, not from what the relay says', () => {
  const event = signed(30090, payload);
  const check = (more) => checkEntry(row(event, more), ID, pair.agent);
  assert.deepEqual([check({ content: payload, encrypted: true }).signature, check({ content: payload, encrypted: true }).sealed], ['ok', true]);
  assert.equal(check({ content: 'opened', encrypted: true, opened: true }).signature, 'ok');
  assert.equal(check({ content: 'made up', encrypted: true }).signature, 'bad');
  assert.equal(check({ content: payload, encrypted: false }).signature, 'bad');
  assert.equal(check({ content: '', encrypted: true }).signature, 'ok', 'shown to an arbitrator');
});

test('a move says by its event what it says', () => {
  const event = signed(30091, JSON.stringify({ status: 'accepted', previous_status: 'open', note: 'yes' }));
  assert.deepEqual(checkMove(event, ID, pair.agent), { signature: 'ok', event, status: 'accepted', previous: 'open', note: 'yes' });
  assert.equal(checkMove(undefined, ID, '').signature, 'none');
  for (const bad of [{ ...event, content: event.content.replace('yes', 'no') }, signed(30090, event.content), signed(30091, '{}'), signed(30091, '{"status":7}'), signed(30091, '{"status":"open","status":"paid"}'), signed(30091, 'x'), 7]) {
    assert.deepEqual(checkMove(bad, ID, ''), { signature: 'bad', event: null, status: '', previous: '', note: '' });
  }
  assert.equal(checkMove(event, 'other', '').signature, 'bad');
  assert.equal(checkMove(event, ID, pair.owner).signature, 'bad', 'by another');
});
