// What each relay has, and an agent's memory as files.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { engram, forged, keyed, outside, ownerOver, party } from './fakes.mjs';

const owner = party(7), agent = party(9);
const a = engram(agent, owner, 'mem/people/ana', 'Ana', 1000), newer = engram(agent, owner, 'mem/people/ana', 'Ana speaks Spanish', 2000);
const core = engram(agent, owner, 'core', 'I am Sami', 1500), mem = engram(agent, owner, 'mem/core', 'not the profile', 1600);
const gone = engram(agent, owner, 'mem/gone', null, 1700);
const token = `ghp_${'x7Kq2mVtR9bLw4ZpYc8NfJ3hDg6SuE5aXoT1'}`, secret = engram(agent, owner, 'mem/keys', `It is ${token}.`, 1800);
const answered = engram(agent, owner, `mem/proposals-answers/${'0'.repeat(32)}`, 'x', 1900);

/** The files of a zip, as Python reads them. */
function unzipped(t, bytes) {
  const dir = mkdtempSync(join(tmpdir(), 'export-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const file = join(dir, 'a.zip');
  writeFileSync(file, bytes);
  const program = 'import json, sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; print(json.dumps({n: z.read(n).decode() for n in z.namelist()}))';
  return JSON.parse(execFileSync('python3', ['-c', program, file], { encoding: 'utf8' }));
}

test('what relays have and lack of what is in force', async (t) => {
  const relays = { 'wss://one/': { events: [a, core] }, 'wss://two/': { events: [newer, core, gone] }, 'wss://mute/': { silent: true } };
  assert.deepEqual(await ownerOver(t, keyed(owner), relays).relaysOf(agent.pubkey), [
    { relay: 'wss://one/', state: 'complete', reason: undefined, has: 1, lacks: 2, newest: 1500 },
    { relay: 'wss://two/', state: 'complete', reason: undefined, has: 3, lacks: 0, newest: 2000 },
    { relay: 'wss://mute/', state: 'failed', reason: 'no-auth', has: 0, lacks: 3, newest: null },
  ]);
});

test('nobody lacks what a relay makes up', async (t) => {
  const lies = [forged(newer, { created_at: 9000 }), { ...core, content: mem.content }];
  const [liar, honest] = await ownerOver(t, keyed(owner), { 'wss://liar/': { events: lies }, 'wss://one/': { events: [newer, core] } }).relaysOf(agent.pubkey);
  assert.deepEqual([liar.has, liar.lacks, liar.newest], [0, 2, null]);
  assert.deepEqual([honest.has, honest.lacks, honest.newest], [2, 0, 2000]);
});

test('Markdown: a file for each memory at its slug, secrets taken out when asked', async (t) => {
  const relays = { 'wss://one/': { events: [a, core, mem, gone, answered] }, 'wss://two/': { events: [newer, secret] } };
  for (const redact of [true, false]) {
    const it = ownerOver(t, keyed(owner), relays);
    const got = await it.exportOf(agent.pubkey, 'markdown', { redact });
    const files = unzipped(t, got.bytes);
    assert.deepEqual(Object.keys(files).sort(), ['core (2).md', 'core.md', 'keys.md', 'people/ana.md']);
    assert.deepEqual([files['people/ana.md'], got.files, got.redacted], ['Ana speaks Spanish', 4, redact ? 1 : 0]);
    assert.equal(files['keys.md'].includes(token), !redact);
    assert.equal(got.known.exact, true);
    assert.match(got.name, /^memory-[0-9a-f]{8}-markdown\.zip$/);
  }
});

test('signed: the events in force, one a line, none that is forged, nothing decrypted', async (t) => {
  const signer = outside(owner);
  const relays = { 'wss://liar/': { events: [forged(core, { created_at: 9000 }), forged(secret)] }, 'wss://one/': { events: [newer, core, gone] } };
  const got = await ownerOver(t, signer, relays).exportOf(agent.pubkey, 'jsonl', { redact: true });
  const lines = unzipped(t, got.bytes)['engrams.jsonl'].trimEnd().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(lines, [core, gone, newer]);
  assert.deepEqual([signer.asked.length, got.files, got.known.n, got.known.why], [0, 3, 3, ['unreadable']]);
});
