import assert from 'node:assert/strict';
import { test } from 'node:test';
import { W, knownText, reasonText, statusText } from '../../../internal/web/src/words.mjs';

const known = (n, why = []) => ({ n, exact: why.length === 0, why, details: [] });

test('with any of the four words a number is "at least", and never 0', () => {
  assert.deepEqual([0, 1, 2000].map(n => knownText(known(n), W.nouns.memory)), ['0 memories', '1 memory', '2,000 memories']);
  assert.equal(knownText(known(0, ['loading']), W.nouns.memory), W.loading);
  for (const word of ['loading', 'cut', 'failed', 'unreadable']) {
    assert.match(knownText(known(1, [word]), W.nouns.memory), /^at least 1 memory \(./);
    assert.doesNotMatch(knownText(known(0, [word]), W.nouns.memory), /\d/);
  }
  assert.equal(knownText(known(3, ['failed', 'unreadable']), W.nouns.version, 2), 'at least 3 versions (a relay failed, 2 unreadable)');
  assert.match(knownText({ ...known(0), exact: false }, W.nouns.memory), /not known/);
});

test('whose words a text is, is what the agent says: the page does not know it', () => {
  assert.match(W.trust.told.whose, /agent says/); // docs/trust.md: whoever has the agent's key can write it
});

test('a word that is anybody\'s is none that objects have of themselves', () => {
  assert.equal(statusText('disputed'), 'disputed');
  assert.equal(statusText('in_progress'), 'in progress');
  for (const word of ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'paid out']) {
    assert.equal(statusText(word), word);
    assert.match(reasonText(word), /^something went wrong \(/);
  }
});
