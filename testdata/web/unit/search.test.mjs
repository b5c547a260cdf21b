import assert from 'node:assert/strict';
import { test } from 'node:test';
import { references } from '../../../internal/web/src/nipae/references.mjs';
import { fold, index, matches, words } from '../../../internal/web/src/search.mjs';
import { oneLine, trim, visible } from '../../../internal/web/src/text.mjs';
import { chance, fastest } from './table.mjs';

const finds = (question, text) => matches(index(text), words(question));

test('case and accents do not matter, words do by their beginnings, all of them', () => {
  for (const [question, text, want] of [
    ['CAFE', 'Im Café', true], ['café', 'CAFE', true], ['ca fe', 'fe ca', true], ['ca fe', 'cafe', false], ['af', 'café', false], ['', 'anything', true], ['  !? ', 'x', true], ['été', 'e\u0301te\u0301', true],
    ['mem/people', 'mem/people/ana', true], ['people ana', 'mem/people/ana', true], ['2024', 'on 2024-01-02', true], ['straße', 'STRASSE', false], ['記憶', '記憶がある', true], ['ana bob', 'ana', false], ['i', 'Istanbul', true], ['ÅNGSTRÖM', 'angstrom', true],
  ]) assert.equal(finds(question, text), want, JSON.stringify([question, text]));
});

test('a question has at most 16 words, each once', () => {
  assert.deepEqual(words('B b A a'), ['b', 'a']);
  assert.equal(words(Array.from({ length: 100 }, (_, i) => `w${i}`).join(' ')).length, 16);
});

test('a text is found by the beginning of each of its words, and by nothing that it lacks', () => {
  const random = chance(2);
  for (let i = 0; i < 1000; i++) {
    const all = Array.from({ length: 1 + random(8) }, () => ['Über', 'naïve', 'x1', 'ZÜRICH', 'λόγος', 'données', '12'][random(7)]);
    const text = all.join([' ', ', ', '\n', '/'][random(4)]);
    const word = [...all[random(all.length)]];
    const start = word.slice(0, 1 + random(word.length)).join('');
    assert.ok(finds(start, text), JSON.stringify([start, text]));
    assert.ok(finds(start.toUpperCase(), text));
    assert.ok(!finds(`${all[0]}q`, text));
  }
});

test('folding is the same twice', () => {
  for (const text of ['İstanbul', 'ǅ', 'ſ', 'É', 'Å', 'ΑΣ', '한국어']) assert.equal(fold(fold(text)), fold(text), text);
});

test('nothing takes long', async () => {
  for (const piece of ['e\u0301', '\u0301', 'a ', '[[', '[[mem/a', '[[mem/a]]', '\u202e', '/', '\u0000']) {
    const text = piece.repeat(65_536 / piece.length);
    for (const f of [index, words, visible, oneLine, trim, references]) assert.ok(await fastest(() => f(text), 200) <= 200, `${f.name} of ${JSON.stringify(piece)}`);
  }
});
