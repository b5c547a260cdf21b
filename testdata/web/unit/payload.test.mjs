// Whether a text is a payload is told without decoding it: the same as by decoding it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { base64 } from '../../../internal/web/src/node_modules/@scure/base/index.js';
import { isPayload, paddedSize, payloadBytes } from '../../../internal/web/src/nipae/open.mjs';
import { chance, fastest } from './table.mjs';

/** By decoding: canonical base64 of version 2, with a padded length. */
function decoded(content) {
  if (content.length < 132 || content.length > 87_472) return null;
  try {
    const bytes = base64.decode(content), padded = bytes.length - 67;
    return bytes[0] === 2 && padded >= 32 && padded <= 65536 && paddedSize(padded) === padded && base64.encode(bytes) === content ? bytes : null;
  } catch {
    return null;
  }
}

test('a payload is told from what is none, without decoding', () => {
  const roll = chance(30174), letters = 'ABCQghvwxyz0489+/=_- \n';
  let good = 0, bad = 0;
  for (let i = 0; i < 4000; i++) {
    const bytes = Uint8Array.from({ length: 67 + [32, 64, 96, 128, 33][roll(5)] }, () => roll(256));
    if (roll(4)) bytes[0] = 2;
    let text = Buffer.from(bytes).toString('base64');
    if (roll(3) === 0) {
      const at = roll(2) ? text.length - 1 - roll(4) : roll(text.length);
      text = text.slice(0, at) + letters[roll(letters.length)] + text.slice(at + 1);
    }
    if (roll(9) === 0) text = text.replace(/=+$/, '');
    const wanted = decoded(text);
    assert.equal(isPayload(text), wanted !== null, text);
    assert.deepEqual(payloadBytes(text), wanted);
    if (wanted) good++; else bad++;
  }
  assert.ok(good > 500 && bad > 500, `${good} ${bad}`);
});

test('the largest is looked at within no time, also one that ends wrong', async () => {
  const bytes = new Uint8Array(65536 + 67).fill(2);
  const text = Buffer.from(bytes).toString('base64');
  assert.ok(isPayload(text) && !isPayload(`${text.slice(0, -2)}-=`) && !isPayload(`${text}AAAA`));
  assert.ok(await fastest(() => { isPayload(text); isPayload(`${text.slice(0, -2)}-=`); }, 20) <= 20);
});
