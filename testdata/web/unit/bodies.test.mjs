import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Unreadable, parseBody } from '../../../internal/web/src/nipae/body.mjs';
import { validSlug } from '../../../internal/web/src/nipae/slug.mjs';
import { table } from './table.mjs';

const { cases } = table('web-bodies.json');
const bytesOf = (c) => (c.text !== undefined ? Buffer.from(c.text) : Buffer.concat(c.parts.flatMap(([b64, n]) => Array(n).fill(Buffer.from(b64, 'base64')))));
const read = (input) => {
  try {
    return parseBody(input);
  } catch (error) {
    assert.ok(error instanceof Unreadable, `${error}`);
    return null;
  }
};

test('bodies are read as Go reads them', () => {
  assert.ok(cases.length >= 300);
  for (const [i, c] of cases.entries()) {
    const what = `case ${i}: ${(c.text ?? JSON.stringify(c.parts)).slice(0, 200)}`;
    const body = read(new Uint8Array(bytesOf(c)));
    assert.equal(body !== null, c.ok, what);
    if (!body) continue;
    assert.equal(body.slug, c.slug ?? '', what);
    assert.ok(validSlug(body.slug));
    if (c.long) assert.equal(Buffer.byteLength(body.text ?? ''), c.long, what);
    else assert.equal(body.text, c.value ?? null, what);
  }
});

test('a body that a signer decrypted is read the same', () => {
  for (const c of cases.filter((c) => c.text !== undefined)) assert.equal(read(c.text) !== null, c.ok, c.text);
  assert.equal(read('{"slug":"mem/a","value":"\ud800"}'), null);
  assert.equal(read('{"slug":"mem/a","value":"\udc00x"}'), null);
});

test('members are kept but for slug and text, whatever they are called', () => {
  const body = parseBody('{"slug":"mem/a","__proto__":{"x":1},"value":"v","chain":{"n":1},"profile":2,"toString":3}');
  assert.deepEqual(Object.keys(body.members).sort(), ['__proto__', 'chain', 'profile', 'toString']);
  assert.equal(Object.getPrototypeOf(body.members), Object.prototype);
  assert.equal(/** @type {any} */ ({}).x, undefined);
});

test('an error says nothing of the text', () => {
  for (const text of ['{"slug":"planted","value":"planted"}', '{"planted', '{"slug":"mem/planted","value":7,"planted":1}']) {
    assert.throws(() => parseBody(text), (error) => !`${error.message}${error.stack}`.includes('planted":') && !error.message.includes('planted'));
  }
});
