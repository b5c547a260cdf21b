// The page's HTTP, at servers that do what relays must not.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { finalizeEvent, generateSecretKey, getPublicKey, verifyEvent } from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/pure.js';
import { Http } from '../../../internal/web/src/nostr/http.mjs';

const secret = generateSecretKey(), pubkey = getPublicKey(secret);
const sign = async template => finalizeEvent({ ...template }, secret);
const version = n => finalizeEvent({ kind: 30174, created_at: 1_700_000_000 - n, tags: [['d', 'd']], content: `${n}` }, secret);
const of = { kind: 30174, author: pubkey };

async function serve(t, answer) {
  const server = createServer(answer);
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  t.after(() => { server.close(); server.closeAllConnections(); });
  return `ws://127.0.0.1:${server.address().port}/relay/`;
}
const http = (url, o = {}) => new Http(url, sign, { silence: 60_000, ...o });
const json = (res, value) => res.end(JSON.stringify(value));

test('a request is signed for its own address and nothing else', async t => {
  let seen;
  const url = await serve(t, (req, res) => { seen = req; json(res, []); });
  await http(url).history({ ...of, d: 'a&b=c' });
  const proof = JSON.parse(Buffer.from(seen.headers.authorization.replace('Nostr ', ''), 'base64').toString());
  assert.ok(verifyEvent(proof));
  assert.equal(proof.kind, 27235);
  assert.deepEqual(proof.tags, [['u', `http://${seen.headers.host}${seen.url}`], ['method', 'GET']]);
  assert.equal(seen.url, `/relay/history?kind=30174&author=${pubkey}&d=a%26b%3Dc`);
  for (const name of ['cookie', 'referer']) assert.equal(seen.headers[name], undefined);
});

test('every failure has its word', async t => {
  const cases = {
    silent: () => {},
    closed: (req, res) => { res.write('[{'); res.socket.destroySoon(); },
    'unreadable-answer': (req, res) => res.end('[{'),
    'not-there': (req, res) => { res.statusCode = 404; res.end('{}'); },
    refused: (req, res) => { res.statusCode = 403; res.end('{}'); },
    'rate-limited': (req, res) => { res.statusCode = 429; res.end('{}'); },
    'not-authenticated': (req, res) => { res.statusCode = 401; res.end('{"error":"auth-required: no"}'); },
    unready: (req, res) => { res.statusCode = 503; res.end(); },
  };
  for (const [word, answer] of Object.entries(cases)) {
    await t.test(word, async t => { await assert.rejects(http(await serve(t, answer), word === 'silent' ? { silence: 300 } : {}).history(of), { word }); });
  }
  await assert.rejects(http('ws://127.0.0.1:1').history(of), { word: 'unreachable' });
  await assert.rejects(http(await serve(t, (req, res) => json(res, { events: [] }))).history(of), { word: 'unreadable-answer' });
});

test('silence within an answer ends it, slowness does not', async t => {
  const hung = await serve(t, (req, res) => { res.write('['); });
  await assert.rejects(http(hung, { silence: 500 }).history(of), { word: 'silent' });
  // In parts that come six times as fast as they must, and in all take longer: again with
  // more time for each, should the machine have been busy for as long as that.
  for (let silence = 1500; ; silence *= 4) {
    const slow = await serve(t, (req, res) => {
      const parts = ['[', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ']'];
      const go = () => { const part = parts.shift(); if (part === undefined) res.end(); else { res.write(part); setTimeout(go, silence / 6); } };
      go();
    });
    const got = await http(slow, { silence }).history(of).catch(error => { if (silence > 30_000) throw error; });
    if (!got) continue;
    assert.deepEqual(got.events, []);
    break;
  }
});

test('no redirect is followed', async t => {
  let reached = false;
  const other = await serve(t, (req, res) => { reached = true; json(res, []); });
  const url = await serve(t, (req, res) => { res.statusCode = 302; res.setHeader('Location', other.replace('ws:', 'http:')); res.end(); });
  await assert.rejects(http(url).history(of), { word: 'unreachable' });
  assert.equal(reached, false);
});

test('too much is not taken', async t => {
  const url = await serve(t, (req, res) => {
    const more = () => { while (res.write(' '.repeat(1 << 20))); };
    res.on('drain', more);
    more();
  });
  await assert.rejects(http(url).history(of), { word: 'too-large' });
});

test('a 401 that tells the time is asked once more, and no more', async t => {
  let asked = 0;
  const at = [];
  const url = await serve(t, (req, res) => {
    asked++;
    at.push(JSON.parse(Buffer.from(req.headers.authorization.slice(6), 'base64').toString()).created_at);
    res.statusCode = 401;
    res.end('{"error":"auth-required: created_at is off; the time here is 2031-01-01T00:00:00Z"}');
  });
  await assert.rejects(http(url).history(of), { word: 'not-authenticated' });
  assert.equal(asked, 2);
  assert.ok(Math.abs(at[1] - Date.parse('2031-01-01T00:00:00Z') / 1000) < 600, String(at[1]));
});

test('history is paged with until, and ends', async t => {
  const kept = Array.from({ length: 60 }, (_, n) => version(n));
  const untils = [];
  const url = await serve(t, (req, res) => {
    const until = new URL(req.url, 'http://x').searchParams.get('until');
    untils.push(until);
    json(res, kept.filter(e => until === null || e.created_at <= Number(until)).slice(0, 25));
  });
  const got = await http(url).history(of);
  assert.deepEqual([got.events.length, got.state, got.unreadable], [60, 'complete', 0]);
  assert.equal(untils[0], null);
  assert.ok(untils.length <= 5);
  const stuck = await serve(t, (req, res) => { res.setHeader('Engramd-Truncated', 'true'); json(res, kept.slice(0, 5)); });
  const cut = await http(stuck).history(of);
  assert.deepEqual([cut.events.length, cut.state, cut.reason], [5, 'cut', 'no-progress']);
});

test('what is no version of these is counted and left out', async t => {
  const other = finalizeEvent({ kind: 30174, created_at: 5, tags: [], content: '' }, generateSecretKey());
  const url = await serve(t, (req, res) => json(res, [version(1), other, null, 7, { id: 1 }, { ...version(2), kind: 1 }]));
  const got = await http(url).history(of);
  assert.equal(got.events.length, 1);
  assert.ok(got.unreadable >= 5);
});

test('leaving ends a request', async t => {
  const stop = new AbortController();
  const asked = http(await serve(t, () => {}), { silence: 60_000, closed: stop.signal }).history(of);
  setTimeout(() => stop.abort(), 30);
  await assert.rejects(asked, { name: 'AbortError' });
});
