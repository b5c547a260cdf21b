// The page's connections, at relays that do what relays must not, and at a real one.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { finalizeEvent, generateSecretKey, getPublicKey } from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/pure.js';
import { Http, endpoint, relayTime } from '../../../internal/web/src/nostr/http.mjs';
import { Relay } from '../../../internal/web/src/nostr/relay.mjs';
import { fakeRelay } from '../rig/fake.mjs';
import { startRelay } from '../rig/relay.mjs';

const PATIENCE = 60_000; // ms: a busy machine must not make honest relays silent
const secret = generateSecretKey(), pubkey = getPublicKey(secret);
const sign = async template => finalizeEvent({ ...template }, secret);
const note = (n, at = 1_700_000_000 - n) => finalizeEvent({ kind: 1, created_at: at, tags: [], content: `note ${n}` }, secret);
const connect = (t, url, o = {}) => {
  const relay = new Relay(url, { sign, WebSocket, silence: PATIENCE, ...o });
  t.after(() => relay.close());
  return relay;
};
/**
 * What is said of a relay that falls silent: tried with more time where it was not enough to
 * come as far as that, which gives another reason.
 */
async function silent(t, url, early, ask) {
  for (let silence = 500; ; silence *= 4) {
    const got = await ask(connect(t, url, { silence }));
    if (got.reason !== early || silence > PATIENCE) return got;
  }
}
const events = Array.from({ length: 6 }, (_, n) => note(n));
const page = (sub, list, hint) => [...list.map(e => ['EVENT', sub, e]), ['EOSE', sub, ...(hint ? [[hint]] : [])]];

test('what is not whole is never told as whole', async t => {
  const cases = {
    complete: [(f, sub) => page(sub, events, 'finish'), 'complete', undefined, 6],
    'without a hint': [(f, sub) => page(sub, events.filter(e => f.until === undefined || e.created_at <= f.until)), 'complete', undefined, 6],
    'always more': [(f, sub) => page(sub, events.slice(0, 2), 'more'), 'cut', 'no-progress', 2],
    hangs: [() => 'hang', 'failed', 'silent', 0],
    'hangs within': [(f, sub) => [['EVENT', sub, events[0]]], 'failed', 'silent', 0],
    dies: [() => 'die', 'failed', 'closed', 0],
    refuses: [(f, sub) => [['CLOSED', sub, 'restricted: not you']], 'failed', 'refused', 0],
    'asks for a proof again': [(f, sub) => [['CLOSED', sub, 'auth-required: who?']], 'failed', 'not-authenticated', 0],
  };
  for (const [name, [answer, state, reason, n]] of Object.entries(cases)) {
    await t.test(name, async t => {
      const { url } = await fakeRelay(t, { answer });
      const got = reason === 'silent' ? await silent(t, url, 'no-auth', relay => relay.query({ kinds: [1] })) : await connect(t, url).query({ kinds: [1] });
      assert.deepEqual([got.state, got.reason, got.events.length], [state, reason, n]);
    });
  }
});

test('what cannot be read, or was not asked for, is counted', async t => {
  const other = finalizeEvent({ kind: 7, created_at: 1, tags: [], content: '' }, secret);
  const answer = (f, sub) => ['{', '[1', JSON.stringify({ a: 1 }), ['EVENT', sub, { id: 'x' }], ['EVENT', sub, other], ...page(sub, events, 'finish')];
  const got = await connect(t, (await fakeRelay(t, { answer })).url).query({ kinds: [1] });
  assert.equal(got.events.length, 6);
  assert.equal(got.unreadable, 5);
  assert.equal(got.state, 'complete');
});

test('a flood ends, and a silent relay is not waited for twice', async t => {
  const flood = connect(t, (await fakeRelay(t, { answer: (f, sub) => Array.from({ length: 3000 }, () => ['EVENT', sub, events[0]]) })).url);
  assert.equal((await flood.query({ kinds: [1] })).reason, 'floods');
  const hanging = await fakeRelay(t, { answer: () => 'hang' });
  await silent(t, hanging.url, 'no-auth', async relay => {
    const got = await relay.query({ kinds: [1] });
    if (hanging.asked.length === 0) return got;
    assert.equal(got.reason, 'silent');
    assert.deepEqual(await relay.count({ kinds: [1] }), { failed: 'silent' });
    return got;
  });
  assert.deepEqual(hanging.asked, ['REQ'], 'it is not asked again');
});

test('a silent relay is given up also where timers end before the clock says so', async t => {
  const hanging = await fakeRelay(t, { answer: () => 'hang' }), { now } = performance;
  t.after(() => { performance.now = now; });
  const began = now.call(performance);
  performance.now = () => began + (now.call(performance) - began) / 2;
  await silent(t, hanging.url, 'no-auth', async relay => {
    const got = await relay.query({ kinds: [1] });
    if (hanging.asked.length) assert.deepEqual([got.reason, await relay.count({ kinds: [1] })], ['silent', { failed: 'silent' }]);
    return got;
  });
  assert.deepEqual(hanging.asked, ['REQ']);
});

test('pages are asked for until nothing new comes', async t => {
  const many = Array.from({ length: 40 }, (_, n) => note(n));
  const asked = [];
  const answer = (f, sub) => {
    asked.push(f.until);
    const left = many.filter(e => f.until === undefined || e.created_at <= f.until);
    return page(sub, left.slice(0, 15), left.length > 15 ? 'more' : 'finish');
  };
  const got = await connect(t, (await fakeRelay(t, { answer })).url).query({ kinds: [1] });
  assert.deepEqual([got.state, got.events.length, asked.length], ['complete', 40, 3]);
});

test('a real relay answers, counts, takes, and keeps versions', { timeout: 600_000 }, async t => {
  const real = await startRelay(t);
  const relay = connect(t, real.url);
  const at = Math.floor(Date.now() / 1000);
  const list = n => finalizeEvent({ kind: 30078, created_at: at - 10 + n, tags: [['d', 'engramd/agents']], content: `${n}` }, secret);
  for (const n of [1, 2, 3]) assert.equal((await relay.publish(list(n))).ok, true);
  assert.equal((await relay.publish(list(3))).ok, true, 'again is no failure');
  const bad = { ...list(4), sig: '0'.repeat(128) };
  assert.equal((await relay.publish(bad)).ok, false);
  const got = await relay.query({ kinds: [30078], authors: [pubkey] });
  assert.deepEqual([got.state, got.events.length, got.events[0].content], ['complete', 1, '3']);
  assert.deepEqual(await relay.count({ kinds: [30078], authors: [pubkey] }), { count: 1, approximate: false });
  const http = new Http(real.url, sign);
  const past = await http.history({ kind: 30078, author: pubkey, d: 'engramd/agents' });
  assert.deepEqual([past.state, past.events.map(e => e.content)], ['complete', ['2', '1']]);
});

test('a wrong clock is set once by what a 401 tells', { timeout: 600_000 }, async t => {
  const real = await startRelay(t);
  let calls = 0;
  const late = async template => { calls++; return sign(calls === 1 ? { ...template, created_at: template.created_at - 7200 } : template); };
  assert.deepEqual((await new Http(real.url, late).history({ kind: 30078, author: pubkey })).events, []);
  assert.equal(calls, 2);
  const always = async template => sign({ ...template, created_at: 1 });
  await assert.rejects(new Http(real.url, always).history({ kind: 30078, author: pubkey }), { word: 'not-authenticated' });
});

test('endpoints are those of the relay, below its path', () => {
  assert.equal(endpoint('wss://relay.example/nostr/', '/history?x=1'), 'https://relay.example/nostr/history?x=1');
  assert.equal(endpoint('ws://127.0.0.1:7447', '/'), 'http://127.0.0.1:7447/');
  assert.equal(relayTime('off this relay\'s clock, where it is 1700000000 (2023-11-14T22:13:20Z)'), 1_700_000_000);
  assert.equal(relayTime('no'), null);
});

/** A relay that says what the test has it say: frames come whole to `said`. */
async function raw(t, { said, connected = socket => socket.send(JSON.stringify(['AUTH', 'first'])) }) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  server.on('connection', socket => {
    socket.on('error', () => {});
    socket.on('message', data => said(socket, JSON.parse(String(data))));
    connected(socket);
  });
  await new Promise(done => server.on('listening', done));
  t.after(() => { for (const c of server.clients) c.terminate(); server.close(); });
  return `ws://127.0.0.1:${server.address().port}`;
}
const tell = (socket, ...frames) => { for (const frame of frames) socket.send(typeof frame === 'string' || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame)); };
/** An honest relay's part in AUTH; the rest by another. */
const proving = then => (socket, frame) => (frame[0] === 'AUTH' ? tell(socket, ['OK', frame[1].id, true, '']) : then(socket, frame));

test('a relay that wants the proof anew gets it once, by its newest challenge', async t => {
  const proofs = [];
  let asks = 0;
  const url = await raw(t, { said: (socket, [kind, one]) => {
    if (kind === 'AUTH') {
      proofs.push(one.tags.find(tag => tag[0] === 'challenge')[1]);
      tell(socket, ['OK', one.id, true, '']);
    } else if (kind === 'REQ') {
      if (++asks === 1) tell(socket, ['AUTH', 'second'], ['CLOSED', one, 'auth-required: again']);
      else tell(socket, ...page(one, events, 'finish'));
    }
  } });
  const got = await connect(t, url).query({ kinds: [1] });
  assert.deepEqual([got.state, got.events.length, asks], ['complete', 6, 2]);
  assert.deepEqual(proofs, ['first', 'second']);
});

test('an EVENT and a COUNT are sent again after the proof', async t => {
  let sent = 0;
  const url = await raw(t, { said: proving((socket, [kind, one]) => {
    const first = sent++ % 2 === 0;
    if (kind === 'EVENT') tell(socket, ['OK', one.id, !first, first ? 'auth-required: who?' : '']);
    if (kind === 'COUNT') tell(socket, first ? ['CLOSED', one, 'auth-required: who?'] : ['COUNT', one, { count: 7, approximate: true }]);
  }) });
  const relay = connect(t, url);
  assert.equal((await relay.publish(events[0])).ok, true);
  assert.deepEqual(await relay.count({}), { count: 7, approximate: true });
  assert.equal(sent, 4);
});

test('without AUTH, without its OK, and without a relay', async t => {
  const answer = proving((socket, [, sub]) => tell(socket, ...page(sub, events, 'finish')));
  const mute = await silent(t, await raw(t, { said: answer, connected: () => {} }), 'silent', async relay => ({ ...await relay.query({}), count: await relay.count({}) }));
  assert.deepEqual([mute.reason, mute.count.failed], ['no-auth', 'no-auth']);
  const refusing = connect(t, await raw(t, { said: (socket, [kind, one]) => tell(socket, kind === 'AUTH' ? ['OK', one.id, false, 'restricted: no'] : ['EOSE', one]) }));
  assert.equal((await refusing.query({})).reason, 'not-authenticated');
  const gone = await raw(t, { said: () => {}, connected: socket => socket.terminate() });
  assert.equal((await connect(t, gone).query({})).reason, 'closed');
  assert.equal((await connect(t, 'ws://127.0.0.1:1').query({})).reason, 'unreachable');
  assert.equal((await connect(t, 'ws://127.0.0.1:1').publish(events[0])).word, 'unreachable');
});

test('what a signer refuses is not the relay\'s failure', async t => {
  const url = await raw(t, { said: () => assert.fail('nothing is said to it') });
  const relay = connect(t, url, { sign: () => Promise.reject(Object.assign(new Error(), { word: 'signer-refused' })) });
  assert.deepEqual([(await relay.query({})).reason, (await relay.query({})).state], ['signer-refused', 'failed']);
});

test('hostile frames do no harm and are counted', async t => {
  const deep = '['.repeat(50_000) + ']'.repeat(50_000);
  const bad = ['["EVENT",{"toString":1},{}]', '["OK",{"toString":1}]', `["EVENT",${deep}]`, Buffer.from('["EOSE","q1"]'), 'null', '7', '', '["EVENT","__proto__",{}]', '["AUTH",7]', '[]'];
  const url = await raw(t, { said: proving((socket, [kind, sub]) => {
    if (kind !== 'REQ') return;
    tell(socket, ...bad, `["EVENT","${sub}",{"id":"${'x'.repeat(5 << 20)}"}]`, ['NOTICE', sub], ...page(sub, events, 'finish'));
  }) });
  const got = await connect(t, url).query({ kinds: [1] });
  assert.deepEqual([got.state, got.events.length], ['complete', 6]);
  assert.equal(got.unreadable, 5, 'binary, three that are no arrays, and one too large');
});

test('garbage without end, and answers without end, are left', async t => {
  const garbage = await raw(t, { said: proving((socket, [kind]) => { if (kind === 'REQ') tell(socket, ...Array.from({ length: 1500 }, () => '{')); }) });
  assert.equal((await connect(t, garbage).query({})).reason, 'floods');
  const long = 'x'.repeat(100_000);
  const large = await raw(t, { said: proving((socket, [kind, sub]) => {
    if (kind === 'REQ') tell(socket, ...page(sub, Array.from({ length: 30 }, (_, n) => ({ ...note(n), content: long })), 'more'));
  }) });
  const got = await connect(t, large, { bytes: 1_000_000 }).query({ kinds: [1] });
  assert.deepEqual([got.state, got.reason], ['cut', 'too-large']);
  assert.ok(got.events.length > 0 && got.events.length <= 11);
});

test('whoever leaves does not wait', async t => {
  const relay = connect(t, (await fakeRelay(t, { answer: () => 'hang' })).url, { silence: 60_000 });
  const stop = new AbortController();
  const asked = relay.query({}, { signal: stop.signal });
  setTimeout(() => stop.abort(), 30);
  await assert.rejects(asked, { name: 'AbortError' });
  const slow = connect(t, (await fakeRelay(t, { answer: () => 'hang' })).url, { sign: () => new Promise(() => {}) });
  const late = new AbortController();
  setTimeout(() => late.abort(), 30);
  await assert.rejects(slow.query({}, { signal: late.signal }), { name: 'AbortError' });
});

test('a page of TLS opens no other socket, and says so', async t => {
  globalThis.location = { protocol: 'https:' };
  t.after(() => { delete globalThis.location; });
  const never = class { constructor() { assert.fail('opened'); } };
  assert.equal((await connect(t, 'ws://relay.example', { WebSocket: never }).query({})).reason, 'no-tls');
  await assert.rejects(new Http('ws://relay.example', sign).get('/history'), { word: 'no-tls' });
});

test('more questions than a relay takes at once are asked in turn', { timeout: 600_000 }, async t => {
  const relay = connect(t, (await startRelay(t)).url);
  const filter = { kinds: [30174], authors: [pubkey] };
  const got = await Promise.all(Array.from({ length: 200 }, (_, n) => (n % 2 ? relay.count(filter) : relay.query(filter))));
  assert.deepEqual(got.filter((a, n) => !(n % 2 ? a.count === 0 : a.state === 'complete')), []);
});

test('a real relay that gives five at a time is read whole, but for a second with more', { timeout: 600_000 }, async t => {
  const real = await startRelay(t, { args: ['--limits-max-limit', '5'] });
  const relay = connect(t, real.url);
  const put = async (d, at) => assert.equal((await relay.publish(finalizeEvent({ kind: 30078, created_at: at, tags: [['d', d]], content: '' }, secret))).ok, true);
  const at = Math.floor(Date.now() / 1000) - 1000;
  for (let n = 0; n < 17; n++) await put(`${n}`, at - Math.floor(n / 2));
  const filter = { kinds: [30078], authors: [pubkey] };
  const whole = await relay.query(filter);
  assert.deepEqual([whole.state, whole.events.length, whole.unreadable], ['complete', 17, 0]);
  for (let n = 0; n < 8; n++) await put(`same ${n}`, at - 3);
  const cut = await relay.query(filter);
  assert.deepEqual([cut.state, cut.reason], ['cut', 'no-progress']);
  assert.ok(cut.events.some(e => e.created_at < at - 3), 'what is older still comes');
  assert.deepEqual(await relay.count(filter), { count: 25, approximate: false });
  const one = await relay.query(filter, { most: 1 });
  assert.deepEqual([one.state, one.reason, one.events.length, one.events[0].created_at], ['cut', 'asked-for-no-more', 1, at]);
});

test('who logs out ends what waits, and nothing is opened anew', async t => {
  let connections = 0;
  const url = await raw(t, { said: proving(() => {}), connected: socket => { connections++; tell(socket, ['AUTH', 'first']); } });
  const relay = connect(t, url);
  const asked = Array.from({ length: 40 }, () => relay.query({}));
  await relay.connection.open();
  relay.close();
  assert.deepEqual([...new Set((await Promise.all(asked)).map(a => `${a.state} ${a.reason}`))], ['failed closed']);
  assert.equal((await relay.count({})).failed, 'closed');
  assert.equal(connections, 1);
});

test('a relay that never has enough of proofs is not given more and more', async t => {
  let proofs = 0;
  const url = await raw(t, { said: (socket, [kind, one]) => {
    if (kind === 'AUTH') proofs++;
    if (kind !== 'CLOSE') tell(socket, kind === 'AUTH' ? ['OK', one.id, true, ''] : ['CLOSED', one, 'auth-required: more']);
  } });
  const relay = connect(t, url);
  for (let n = 0; n < 20; n++) assert.equal((await relay.query({})).reason, 'not-authenticated');
  assert.ok(proofs <= 9, String(proofs));
});

test('an address that answers no handshake is silent', async t => {
  const server = createServer(() => {}); // it takes the connection, and says nothing
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  const sockets = [];
  server.on('connection', socket => sockets.push(socket));
  t.after(() => { for (const socket of sockets) socket.destroy(); server.close(); });
  assert.equal((await connect(t, `ws://127.0.0.1:${server.address().port}`, { silence: 300 }).query({})).reason, 'silent');
});
