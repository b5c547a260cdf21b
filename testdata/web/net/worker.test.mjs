// The pasted key: what the Worker does with it, and what it never does.
import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { test } from 'node:test';
import * as nip19 from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/nip19.js';
import * as nip44 from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/nip44.js';
import * as nip49 from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/nip49.js';
import { finalizeEvent, generateSecretKey, getPublicKey, verifyEvent } from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/pure.js';
import { address, conversationKey, proposalAddress } from '../../../internal/web/src/nipae/address.mjs';
import { pastedSigner } from '../../../internal/web/src/signers/pasted.mjs';
import { NodeWorker } from '../rig/worker.mjs';

const owner = generateSecretKey(), agent = generateSecretKey();
const [ownerHex, agentHex] = [owner, agent].map(getPublicKey);
const key = conversationKey(owner, agentHex);
const id = 'ab'.repeat(16);

/** An engram of the agent's. */
function engram(slug, body, more = {}) {
  return finalizeEvent({ kind: 30174, created_at: 1_700_000_000, tags: [['d', more.d ?? address(key, slug)], ['p', more.p ?? ownerHex]],
    content: nip44.encrypt(typeof body === 'string' ? body : JSON.stringify(body), key) }, more.secret ?? agent);
}
async function signedIn(t, text = nip19.nsecEncode(owner)) {
  const worker = new NodeWorker(t);
  const pasted = pastedSigner(worker);
  return { worker, pasted, signer: pasted.signer, got: await pasted.key(text) };
}

test('an nsec opens, and nothing of it comes back', async t => {
  const { worker, signer, got } = await signedIn(t, `  ${nip19.nsecEncode(owner)}\n`);
  assert.deepEqual(got, { pubkey: ownerHex });
  assert.deepEqual([signer.pubkey, signer.kind, signer.canCheckAddress, signer.canCheckUtf8], [ownerHex, 'pasted', true, true]);
  for (const text of [nip19.nsecEncode(owner), Buffer.from(owner).toString('hex')]) assert.ok(!worker.said.includes(text) && !JSON.stringify(signer).includes(text));
});

test('what is no key is refused, and not repeated', async t => {
  const nsec = nip19.nsecEncode(owner);
  const wrong = [nsec.slice(0, -1), `${nsec}x`, nip19.npubEncode(ownerHex), Buffer.from(owner).toString('hex'), '', 'ncryptsec1qqqq', `nsec1${'q'.repeat(2000)}`, nip19.nsecEncode(new Uint8Array(32))];
  for (const text of wrong) {
    const worker = new NodeWorker(t);
    await assert.rejects(pastedSigner(worker).key(text), error => error.word === 'not-a-key' && !error.message.includes(text.slice(0, 20) || 'nsec'));
  }
  const { pasted } = await signedIn(t);
  await assert.rejects(pasted.key(nip19.nsecEncode(agent)), { word: 'never-signed' }, 'one Worker has one key');
});

test('an ncryptsec wants its password, and no more work than a browser does', async t => {
  const { pasted, got } = await signedIn(t, nip49.encrypt(owner, 'correct horse', 4));
  assert.deepEqual(got, { password: true, log_n: 4 });
  await assert.rejects(pasted.signer.sign({ kind: 22242, created_at: 1, tags: [], content: '' }), { word: 'no-key' });
  await assert.rejects(pasted.password('wrong'), { word: 'wrong-password' });
  assert.deepEqual(await pasted.password('correct horse'), { pubkey: ownerHex });
  assert.equal(pasted.signer.pubkey, ownerHex);
  const { bech32 } = await import('../../../internal/web/src/node_modules/@scure/base/index.js');
  const hard = n => { const bytes = new Uint8Array(91); bytes[0] = 2; bytes[1] = n; return bech32.encode('ncryptsec', bech32.toWords(bytes), 200); };
  await assert.rejects(pastedSigner(new NodeWorker(t)).key(hard(19)), { word: 'key-too-hard' });
  assert.equal((await pastedSigner(new NodeWorker(t)).key(hard(18))).log_n, 18);
});

test('it signs AUTH, NIP-98 and approvals, and never an engram in an agent\'s name', async t => {
  const { worker, signer } = await signedIn(t);
  const template = (kind, tags = []) => ({ kind, created_at: 1_700_000_000, tags, content: '' });
  for (const good of [template(22242, [['relay', 'wss://x']]), template(27235), template(30078, [['d', 'engramd/agents'], ['p', agentHex]])]) {
    const event = await signer.sign(good);
    assert.ok(verifyEvent(event));
    assert.equal(event.pubkey, ownerHex);
  }
  const never = [0, 1, 3, 5, 1059, 13, 30174, 30090, 30091, 30023, 24133].map(kind => template(kind, [['d', 'engramd/agents'], ['p', agentHex]]));
  never.push(template(30078), template(30078, [['d', 'other']]), template(30078, [['d', 'other'], ['d', 'engramd/agents']]), template(30078, [['d', 'engramd/agents'], ['d', 'engramd/agents']]));
  never.push({ ...template(27235), pubkey: agentHex, kind: 30174 });
  for (const bad of never) await assert.rejects(signer.sign(bad), { word: 'never-signed' }, JSON.stringify(bad));
  // What a page could send past the signer is no more than what the signer has.
  for (const op of ['constructor', 'toString', '__proto__', 'secret', undefined]) {
    const said = await new Promise(done => { worker.thread.once('message', done); worker.postMessage({ n: 999, op }); });
    assert.deepEqual(said, { n: 999, word: 'failed' });
  }
});

test('a proposal is sealed for its agent at its own address', async t => {
  const { signer } = await signedIn(t);
  const event = await signer.propose({ agent: agentHex, id, text: 'hello', created_at: 1_700_000_000 });
  assert.ok(verifyEvent(event));
  // It commits to the message keys of its payload: HKDF-expand over the nonce.
  const info = Buffer.from(event.content, 'base64').subarray(1, 33);
  const part = (...of) => createHmac('sha256', key).update(Buffer.concat(of)).digest();
  const one = part(info, Buffer.of(1)), two = part(one, info, Buffer.of(2)), three = part(two, info, Buffer.of(3));
  const commit = createHash('sha256').update(Buffer.concat([one, two, three]).subarray(0, 76)).digest('hex');
  assert.deepEqual(event.tags, [['d', proposalAddress(ownerHex, agentHex, id)], ['p', agentHex], ['commit', commit]]);
  assert.deepEqual(JSON.parse(nip44.decrypt(event.content, key)), { slug: `mem/proposals/${id}`, value: 'hello' });
  for (const bad of [{ agent: ownerHex, id }, { agent: agentHex, id: 'x' }, { agent: agentHex, id: `${id}/../x` }]) await assert.rejects(signer.propose({ text: '', created_at: 1, ...bad }), { word: 'never-signed' });
  await assert.rejects(signer.propose({ agent: agentHex, id, text: 'x'.repeat(66_000), created_at: 1 }), { word: 'too-large' });
});

test('engrams are opened in order, many at once, and each fault has its word', async t => {
  const { signer } = await signedIn(t);
  const good = Array.from({ length: 45 }, (_, n) => engram(`mem/n/${n}`, { slug: `mem/n/${n}`, value: `text ${n}` }));
  const cases = {
    'not-signed': { ...good[0], sig: good[1].sig },
    'wrong-address': engram('mem/a', { slug: 'mem/b', value: '' }),
    'not-json': engram('mem/a', '{"slug":"mem/a","slug":"mem/a","value":""}'),
    'no-slug': engram('mem/a', { slug: 'mem/A', value: '' }),
    'no-text': engram('mem/a', { slug: 'mem/a', value: 7 }),
    'not-engram': engram('mem/a', { slug: 'mem/a', value: '' }, { p: agentHex }),
    'not-payload': { ...good[0], content: 'x' },
    'not-decrypted': finalizeEvent({ kind: 30174, created_at: 1, tags: [['d', address(key, 'mem/a')], ['p', ownerHex]], content: nip44.encrypt('x', new Uint8Array(32).fill(9)) }, agent),
  };
  const removed = engram('mem/gone', { slug: 'mem/gone', value: null });
  const seen = [], sizes = [];
  await signer.open([...good, removed, ...Object.values(cases)], { peer: agentHex, onOpened: results => { sizes.push(results.length); seen.push(...results); } });
  assert.deepEqual(seen.slice(0, 45).map(r => r.text), good.map((_, n) => `text ${n}`));
  assert.ok(seen.slice(0, 46).every(r => r.addressOk));
  assert.equal(seen[45].text, null);
  assert.deepEqual(seen.slice(46).map(r => r.unreadable), Object.keys(cases));
  assert.ok(sizes.length > 1 && Math.max(...sizes) <= 20, 'others come between');
});

test('a body that goes deep keeps none of the others shut', async t => {
  const { signer } = await signedIn(t);
  const deep = engram('mem/deep', `{"slug":"mem/deep","value":"deep","x":${'['.repeat(9900)}${']'.repeat(9900)}}`);
  const link = { w: '0123abcd', n: 0, t: 1_700_000_000, root: 'ab'.repeat(32) };
  const seen = [];
  await signer.open([engram('mem/a', { slug: 'mem/a', value: 'a', chain: link }), deep, engram('mem/b', { slug: 'mem/b', value: 'b' })], { peer: agentHex, onOpened: results => seen.push(...results) });
  assert.deepEqual(seen.map(r => r.text), ['a', 'deep', 'b']);
  assert.equal(seen[0].members.chain.root, link.root);
});

test('what the owner wrote to the agent opens too, and a peer that is no key does not', async t => {
  const { signer } = await signedIn(t);
  const mine = await signer.propose({ agent: agentHex, id, text: 'mine', created_at: 5 });
  const seen = [];
  await signer.open([mine], { peer: agentHex, onOpened: results => seen.push(...results) });
  assert.deepEqual([seen[0].slug, seen[0].text], [`mem/proposals/${id}`, 'mine']);
  await assert.rejects(signer.open([mine], { peer: 'ff'.repeat(32), onOpened: () => {} }), { word: 'not-a-key' });
  await assert.rejects(signer.open([mine], { peer: 'x', onOpened: () => {} }), { word: 'not-a-key' });
});

test('who leaves ends the opening, and who logs out ends the Worker', async t => {
  const { worker, signer } = await signedIn(t);
  const many = Array.from({ length: 60 }, (_, n) => engram(`mem/n/${n}`, { slug: `mem/n/${n}`, value: '' }));
  const stop = new AbortController();
  let opened = 0;
  await assert.rejects(signer.open(many, { peer: agentHex, signal: stop.signal, onOpened: results => { opened += results.length; stop.abort(); } }), { name: 'AbortError' });
  assert.ok(opened <= 20);
  const pending = signer.sign({ kind: 22242, created_at: 1, tags: [], content: '' });
  const ended = new Promise(done => worker.thread.once('exit', done));
  signer.close();
  await assert.rejects(pending, { word: 'logged-out' });
  await assert.rejects(signer.sign({ kind: 22242, created_at: 1, tags: [], content: '' }), { word: 'logged-out' });
  await ended;
});

test('many agents\' keys are not kept for ever', async t => {
  const { signer } = await signedIn(t);
  for (let n = 0; n < 70; n++) {
    const secret = generateSecretKey(), peer = getPublicKey(secret), shared = conversationKey(secret, ownerHex);
    const event = finalizeEvent({ kind: 30174, created_at: 5, tags: [['d', address(shared, 'mem/a')], ['p', ownerHex]], content: nip44.encrypt('{"slug":"mem/a","value":"v"}', shared) }, secret);
    let text;
    await signer.open([event], { peer, onOpened: ([result]) => { text = result.text; } });
    assert.equal(text, 'v');
  }
});
