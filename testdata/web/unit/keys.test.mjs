import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conversationKey } from '../../../internal/web/src/nipae/address.mjs';
import { open } from '../../../internal/web/src/nipae/open.mjs';
import { verify } from '../../../internal/web/src/nostr/event.mjs';
import { Keys } from '../../../internal/web/src/worker/keys.mjs';
import { encrypt } from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/nip49.js';
import { nsecEncode } from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/nip19.js';
import { bech32 } from '../../../internal/web/src/node_modules/@scure/base/index.js';
import { table } from './table.mjs';

const { pair: [pair], cases } = table('web-events.json');
const secret = new Uint8Array(Buffer.from(pair.owner_secret, 'hex'));
const nsec = nsecEncode(secret);
const signedIn = () => {
  const keys = new Keys();
  assert.deepEqual(keys.key(` ${nsec}\n`), { pubkey: pair.owner });
  return keys;
};
const word = (f) => {
  try {
    f();
  } catch (error) {
    assert.ok(!`${error.message}${error.stack}`.includes(nsec.slice(5, 30)) && !`${error.stack}`.includes(pair.owner_secret));
    return error.word;
  }
  return 'none';
};

test('a key is an nsec, or an ncryptsec with its password', () => {
  const keys = new Keys();
  for (const text of ['', 'nsec1', nsec.slice(0, -1), `${nsec}q`, pair.owner_secret, nsec.replace('nsec1', 'npub1'), nsecEncode(new Uint8Array(32)), nsecEncode(new Uint8Array(32).fill(255))]) assert.equal(word(() => keys.key(text)), 'not-a-key', text);
  assert.equal(word(() => keys.password('x')), 'not-a-key');
  assert.equal(word(() => keys.sign({ kind: 22242, created_at: 1, tags: [], content: '' })), 'no-key');
  assert.deepEqual(keys.key(encrypt(secret, 'pässword', 4)), { password: true, log_n: 4 });
  assert.equal(word(() => keys.password('password')), 'wrong-password');
  assert.deepEqual(keys.password('pässword'), { pubkey: pair.owner });
});

test('an ncryptsec that needs more work than a browser should do is refused unread', () => {
  const easy = encrypt(secret, 'x', 4);
  assert.equal(word(() => new Keys().key(`${easy.slice(0, -1)}${easy.endsWith('q') ? 'p' : 'q'}`)), 'not-a-key');
  assert.equal(word(() => new Keys().key('ncryptsec1')), 'not-a-key');
  for (const [n, want] of [[18, 'none'], [19, 'key-too-hard'], [255, 'key-too-hard']]) {
    const { bytes } = bech32.decodeToBytes(easy);
    bytes[1] = n;
    assert.equal(word(() => new Keys().key(bech32.encode('ncryptsec', bech32.toWords(bytes), 200))), want, `${n}`);
  }
});

test('it signs who asks and approvals, and never an engram', () => {
  const keys = signedIn();
  for (const template of [{ kind: 22242, created_at: 1, tags: [['relay', 'x']], content: '' }, { kind: 27235, created_at: 1, tags: [], content: '' }, { kind: 30078, created_at: 1, tags: [['d', 'engramd/agents']], content: '' }]) {
    const event = keys.sign(template);
    assert.ok(verify(event));
    assert.equal(event.pubkey, pair.owner);
  }
  for (const template of [{ kind: 30174, tags: [['d', 'a'.repeat(64)], ['p', pair.owner]] }, { kind: 30174, tags: [['d', 'a'.repeat(64)], ['p', pair.agent]] }, { kind: 30078, tags: [['d', 'other']] }, { kind: 30078, tags: [] }, { kind: 30078, tags: [['d', 'other'], ['d', 'engramd/agents']] },
    { kind: 30078, tags: [['d', 'engramd/agents'], ['d', 'other']] }, { kind: 1, tags: [] }, { kind: 0, tags: [] }, { kind: 5, tags: [] }, { kind: '30174', tags: [] }]) {
    assert.equal(word(() => keys.sign(/** @type {any} */ ({ created_at: 1, content: '', ...template }))), 'never-signed', JSON.stringify(template));
  }
});

test('a proposal is what the agent opens, at the address of a proposal', () => {
  const id = '0123456789abcdef0123456789abcdef', text = '---\npropose: write\nslug: mem/a\n---\ntext';
  const keys = signedIn();
  const event = keys.proposal({ agent: pair.agent, id, text, created_at: 1700000000 });
  const opened = open(conversationKey(new Uint8Array(Buffer.from(pair.secret, 'hex')), pair.owner), event, pair.owner, pair.agent);
  assert.deepEqual([opened.slug, opened.text, opened.addressOk], [`mem/proposals/${id}`, text, true]);
  assert.equal(word(() => keys.proposal({ agent: pair.owner, id, text, created_at: 1 })), 'never-signed', 'to himself');
  assert.equal(word(() => keys.proposal({ agent: pair.agent, id: `${id}/x`, text, created_at: 1 })), 'never-signed');
  assert.equal(word(() => keys.proposal({ agent: pair.agent, id, text: 'x'.repeat(65_535), created_at: 1 })), 'too-large');
  assert.equal(word(() => keys.proposal({ agent: 'f'.repeat(64), id, text, created_at: 1 })), 'not-a-key');
});

test('what the agent wrote is opened as Go opens it', () => {
  const events = cases.map((c) => c.event);
  const results = signedIn().open(events, pair.agent);
  assert.equal(results.length, cases.length);
  for (const [i, c] of cases.entries()) {
    if (c.event.pubkey !== pair.agent) continue;
    if (c.fault) assert.ok('unreadable' in results[i], c.name);
    else assert.deepEqual([results[i].slug, results[i].text], [c.slug, c.text ?? null], c.name);
  }
});
