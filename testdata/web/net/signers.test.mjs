// Signers outside of the page: an extension and a bunker, honest ones and others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import * as nip44 from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/nip44.js';
import { finalizeEvent, generateSecretKey, getPublicKey, verifyEvent } from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/pure.js';
import { conversationKey, proposalAddress } from '../../../internal/web/src/nipae/address.mjs';
import { connectNip07 } from '../../../internal/web/src/signers/nip07.mjs';
import { startBunker } from '../rig/bunker.mjs';
import { startRelay } from '../rig/relay.mjs';

globalThis.WebSocket ??= WebSocket; // nostr-tools takes it from there when it is loaded
const { connectBunker } = await import('../../../internal/web/src/signers/nip46.mjs');

const owner = generateSecretKey(), agent = generateSecretKey(), other = generateSecretKey();
const [ownerHex, agentHex] = [owner, agent].map(getPublicKey);
const key = conversationKey(owner, agentHex);
const auth = { kind: 22242, created_at: 1_700_000_000, tags: [['challenge', 'x']], content: '' };

const honest = () => ({
  getPublicKey: async () => ownerHex,
  signEvent: async template => finalizeEvent({ ...template }, owner),
  nip44: {
    decrypt: async (peer, payload) => nip44.decrypt(payload, conversationKey(owner, peer)),
    encrypt: async (peer, text) => nip44.encrypt(text, conversationKey(owner, peer)),
  },
});
async function extension(t, nostr) {
  globalThis.nostr = nostr;
  t.after(() => { delete globalThis.nostr; });
  return connectNip07({ wait: 100 });
}
const engram = (body, n = 0, tags = [['d', 'ab'.repeat(32)], ['p', ownerHex]]) =>
  finalizeEvent({ kind: 30174, created_at: 1_700_000_000 + n, tags, content: nip44.encrypt(typeof body === 'string' ? body : JSON.stringify(body), key) }, agent);

test('an extension that comes late is waited for, one that does not come is missed', async t => {
  t.after(() => { delete globalThis.nostr; });
  await assert.rejects(connectNip07({ wait: 60 }), { word: 'no-extension' });
  setTimeout(() => { globalThis.nostr = honest(); }, 80);
  const signer = await connectNip07({ wait: 60_000 });
  assert.deepEqual([signer.kind, signer.pubkey, signer.canCheckAddress, signer.canCheckUtf8], ['nip07', ownerHex, false, false]);
});

test('an extension without nip44, or without a key, is told from a good one', async t => {
  await assert.rejects(extension(t, { ...honest(), nip44: undefined }), { word: 'no-nip44' });
  await assert.rejects(extension(t, { ...honest(), nip44: { decrypt: async () => '' } }), { word: 'no-nip44' });
  await assert.rejects(extension(t, { ...honest(), getPublicKey: async () => 'npub1x' }), { word: 'bad-signature' });
  await assert.rejects(extension(t, { ...honest(), getPublicKey: () => Promise.reject(new Error('secret text')) }), { word: 'signer-refused', message: 'signer-refused' });
});

test('a signature by another key ends the session', async t => {
  let asked = 0;
  const signer = await extension(t, { ...honest(), signEvent: async template => { asked++; return finalizeEvent({ ...template }, other); } });
  await assert.rejects(signer.sign(auth), { word: 'other-key' });
  await assert.rejects(signer.sign(auth), { word: 'logged-out' });
  await assert.rejects(signer.open([engram({ slug: 'mem/a', value: '' })], { peer: agentHex, onOpened: () => {} }), { word: 'logged-out' });
  assert.equal(asked, 1);
});

test('what was not asked for is no signature', async t => {
  const lies = {
    'another time': template => finalizeEvent({ ...template, created_at: 5 }, owner),
    'another kind': template => finalizeEvent({ ...template, kind: 1 }, owner),
    'more tags': template => finalizeEvent({ ...template, tags: [...template.tags, ['x']] }, owner),
    'no signature': template => ({ ...finalizeEvent({ ...template }, owner), sig: '0'.repeat(128) }),
    'nothing': () => undefined,
    'text': () => 'ok',
  };
  for (const [name, lie] of Object.entries(lies)) {
    const signer = await extension(t, { ...honest(), signEvent: async template => lie(template) });
    await assert.rejects(signer.sign(auth), { word: 'bad-signature' }, name);
  }
  const refusing = await extension(t, { ...honest(), signEvent: () => Promise.reject(new Error('user said no')) });
  await assert.rejects(refusing.sign(auth), { word: 'signer-refused', message: 'signer-refused' });
});

test('an extension that throws at once is one that refuses', async t => {
  const thrower = () => { throw new TypeError('x'); };
  await assert.rejects(extension(t, { ...honest(), getPublicKey: thrower }), { word: 'signer-refused' });
  const signer = await extension(t, { ...honest(), signEvent: thrower, nip44: { decrypt: thrower, encrypt: thrower } });
  await assert.rejects(signer.sign(auth), { word: 'signer-refused' });
  const seen = [];
  await signer.open([engram({ slug: 'mem/a', value: '' })], { peer: agentHex, onOpened: results => seen.push(...results) });
  assert.equal(seen[0].unreadable, 'not-decrypted');
});

test('it is asked for one thing at a time, and only for what could be an engram', async t => {
  let now = 0, most = 0, asked = 0;
  const nostr = honest();
  const decrypt = nostr.nip44.decrypt;
  nostr.nip44.decrypt = async (...args) => {
    asked++;
    most = Math.max(most, ++now);
    await new Promise(done => setTimeout(done, 2));
    now--;
    return decrypt(...args);
  };
  const signer = await extension(t, nostr);
  const good = Array.from({ length: 5 }, (_, n) => engram({ slug: `mem/n${n}`, value: `${n}` }, n));
  const forged = { ...good[0], sig: good[1].sig };
  const seen = [];
  const open = events => signer.open(events, { peer: agentHex, onOpened: results => { assert.equal(results.length, 1); seen.push(...results); } });
  await Promise.all([open(good), open([forged, engram('{"slug":"mem/a"}'), engram({ slug: 'mem/x', value: '' }, 0, [['d', 'ab'.repeat(32)], ['p', agentHex]])])]);
  assert.deepEqual([most, asked], [1, 6]);
  assert.deepEqual(seen.filter(r => 'unreadable' in r).map(r => r.unreadable).sort(), ['no-text', 'not-engram', 'not-signed']);
  assert.ok(seen.filter(r => !('unreadable' in r)).every(r => r.addressOk === false));
});

test('a stop ends the opening after the one that is asked for', async t => {
  let asked = 0;
  const nostr = honest();
  const decrypt = nostr.nip44.decrypt;
  nostr.nip44.decrypt = (...args) => { asked++; return decrypt(...args); };
  const signer = await extension(t, nostr);
  const stop = new AbortController();
  const events = Array.from({ length: 9 }, (_, n) => engram({ slug: `mem/n${n}`, value: '' }, n));
  await assert.rejects(signer.open(events, { peer: agentHex, signal: stop.signal, onOpened: () => { if (asked === 3) stop.abort(); } }), { name: 'AbortError' });
  assert.equal(asked, 3);
});

test('a proposal through an extension is at its own address, and nothing else goes through', async t => {
  const signer = await extension(t, honest());
  const id = 'cd'.repeat(16);
  const event = await signer.propose({ agent: agentHex, id, text: 'text', created_at: 7 });
  assert.ok(verifyEvent(event));
  assert.deepEqual(event.tags, [['d', proposalAddress(ownerHex, agentHex, id)], ['p', agentHex]]);
  assert.deepEqual(JSON.parse(nip44.decrypt(event.content, key)), { slug: `mem/proposals/${id}`, value: 'text' });
  await assert.rejects(signer.propose({ agent: ownerHex, id, text: '', created_at: 7 }), { word: 'never-signed' });
  await assert.rejects(signer.propose({ agent: agentHex, id: 'core', text: '', created_at: 7 }), { word: 'never-signed' });
});

test('a bunker signs and decrypts over a relay', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const { link, asked } = await startBunker(t, relay.url, Buffer.from(owner).toString('hex'));
  const signer = await connectBunker(link, { signal: new AbortController().signal, onAuthUrl: () => assert.fail() });
  t.after(() => signer.close());
  assert.deepEqual([signer.kind, signer.pubkey], ['nip46', ownerHex]);
  const event = await signer.sign(auth);
  assert.ok(verifyEvent(event));
  const seen = [];
  await signer.open([engram({ slug: 'mem/a', value: 'said' })], { peer: agentHex, onOpened: results => seen.push(...results) });
  assert.deepEqual([seen[0].text, seen[0].addressOk], ['said', false]);
  assert.ok(!asked.includes('switch_relays'), 'no other relay is gone to');
  signer.close();
  await assert.rejects(signer.sign(auth), { word: 'logged-out' });
  const wrong = link.replace(/secret=.*/, 'secret=0000000000000000');
  await assert.rejects(connectBunker(wrong, { signal: new AbortController().signal, onAuthUrl: () => {} }), { word: 'bunker-failed' });
});

test('what is no bunker link contacts nobody', async t => {
  const { signal } = new AbortController();
  const hex = getPublicKey(other), many = Array.from({ length: 11 }, (_, n) => `relay=${encodeURIComponent(`wss://r${n}.invalid`)}`).join('&');
  for (const link of ['', 'somebody@relay.invalid', 'https://x.invalid', `bunker://${hex}`, `bunker://${hex}?relay=https%3A%2F%2Fx.invalid`, `bunker://${hex}?relay=nonsense`, `bunker://${hex}?${many}`]) {
    await assert.rejects(connectBunker(link, { signal, onAuthUrl: () => {} }), { word: 'no-bunker' }, link);
  }
  globalThis.location = { protocol: 'https:' };
  t.after(() => { delete globalThis.location; });
  await assert.rejects(connectBunker(`bunker://${hex}?relay=ws%3A%2F%2Fx.invalid`, { signal, onAuthUrl: () => {} }), { word: 'no-tls' });
});

test('who gives up does not wait for a bunker', async t => {
  const stop = new AbortController();
  const relay = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  t.after(() => { for (const c of relay.clients) c.terminate(); relay.close(); });
  relay.on('connection', socket => socket.on('message', data => {
    const [kind, event] = JSON.parse(String(data));
    if (kind !== 'EVENT') return;
    socket.send(JSON.stringify(['OK', event.id, true, '']));
    stop.abort(); // the bunker has been asked, and says nothing
  }));
  await new Promise(done => relay.on('listening', done));
  const url = encodeURIComponent(`ws://127.0.0.1:${relay.address().port}`);
  await assert.rejects(connectBunker(`bunker://${getPublicKey(other)}?relay=${url}&secret=x`, { signal: stop.signal, onAuthUrl: () => {} }), { word: 'logged-out' });
});
