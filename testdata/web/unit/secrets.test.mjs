import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redact } from '../../../internal/web/src/redact.mjs';
import { Scanner } from '../../../internal/web/src/secrets/scan.mjs';
import { fastest, table } from './table.mjs';

const { cases } = table('web-secrets.json');

test('secrets are found where Go finds them, and nowhere else', () => {
  assert.ok(cases.length >= 500);
  for (const [i, { text, found }] of cases.entries()) {
    const got = new Scanner(Buffer.from(text, 'base64').toString('latin1')).all().map((f) => [f.kind, f.start, f.end]);
    assert.deepEqual(got, found, `case ${i}: ${Buffer.from(text, 'base64')}`);
  }
});

test('redacting takes each out and leaves the rest', () => {
  for (const [i, { text, found }] of cases.entries()) {
    const bytes = Buffer.from(text, 'base64');
    const shown = redact(bytes.toString());
    assert.equal(shown.count, found.length, `case ${i}`);
    for (const [kind, start, end] of found) {
      assert.ok(shown.text.includes(`[redacted: ${kind}]`), `case ${i}`);
      const value = bytes.subarray(start, end).toString();
      if (bytes.toString().split(value).length === 2) assert.ok(!shown.text.includes(value), `case ${i}`);
    }
    if (!found.length) assert.equal(shown.text, bytes.toString());
  }
  assert.equal(redact('\ufeffé password: hunter2x \ufeff').text, '\ufeffé password: [redacted: password] \ufeff');
});

test('64 KiB of anything repeated takes time for its length alone', async () => {
  for (const piece of ['a', '-', '-----BEGIN RSA PRIVATE KEY-----', 'sk-', 'eyJ', 'eyJ.', 'abandon ', 'password ', 'password: ', 'secret ', '0', '00:', 'nsec1', 'n s ', 'A+/=', 'x://', 'x://a:', '\\n', 'Z2hwX', '5', 'ghp_', 'secret \n', 'é', 'n\u200b', 'bunker://', 'sk-proj-', 'AKIA', '-----BEGIN A PRIVATE KEY-----a: b\n']) {
    const text = piece.repeat(Math.ceil(65_536 / piece.length));
    const ms = await fastest(() => redact(text), 2000);
    assert.ok(ms <= 2000, `${JSON.stringify(piece)} takes ${ms} ms`);
  }
});

test('the table of cases that every way of writing is held to', () => {
  const { cases: all } = table('secret-cases.json');
  assert.ok(all.length >= 60);
  for (const { name, kind, count = 1, text } of all) {
    for (const [before, behind] of [['', ''], ['Noted on Monday:\n\n', '\n\nThat is all.']]) {
      const got = new Scanner(Buffer.from(before + text.join('') + behind).toString('latin1')).all().map((f) => f.kind);
      assert.deepEqual(got, kind ? Array(count).fill(kind) : [], name);
    }
  }
});
