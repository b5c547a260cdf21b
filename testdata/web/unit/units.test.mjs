import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oneLine, visible } from '../../../internal/web/src/text.mjs';
import { parse } from '../../../internal/web/src/unit/fields.mjs';
import { chance, fastest, table } from './table.mjs';

const { cases, oneLine: lines, hidden, pictographs, joining } = table('web-units.json');

/** @param {[string, any][]} fields the first of each key, as the table has them */
function shown(fields) {
  const seen = new Set();
  return fields.filter(([key]) => !seen.has(key) && seen.add(key)).map(([key, v]) => [key, v.list ?? (v.pairs ? { pairs: v.pairs } : v.scalar)]);
}

test('front matter is read as Go reads it', () => {
  assert.ok(cases.length >= 300);
  for (const [i, c] of cases.entries()) {
    const u = parse(c.text);
    const got = { text: c.text, head: u.hasHead, body: u.body, fields: shown(u.fields), type: u.type, state: u.state, trust: u.trust, tags: u.tags,
      description: u.description, title: u.title, source: u.source, links: u.links };
    assert.deepEqual(got, c, `case ${i}`);
  }
});

test('a line of a list is as Go has it', () => {
  for (const [text, line] of lines) assert.equal(oneLine(text), line, JSON.stringify(text));
});

test('every character that hides is shown by its number, and no other', () => {
  const hides = (c) => hidden.some(([from, to]) => c >= from && c <= to);
  for (let c = 0; c <= 0x10ffff; c++) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    const s = String.fromCodePoint(c);
    const want = hides(c) && s !== '\n' && s !== '\t' ? `⟨U+${c.toString(16).toUpperCase().padStart(4, '0')}⟩` : s;
    assert.equal(visible(s), want, `U+${c.toString(16)}`);
  }
});

test('selectors stay after pictographs, and joiners between letters that they shape, as in Go', () => {
  const within = (all, c) => all.some(([from, to]) => c >= from && c <= to);
  assert.ok(pictographs.length && joining.length);
  for (let c = 0; c <= 0x10ffff; c++) {
    if (c >= 0xd800 && c <= 0xdfff || within(hidden, c)) continue;
    const s = String.fromCodePoint(c);
    assert.equal(visible(`${s}\ufe0f`), within(pictographs, c) ? `${s}\ufe0f` : `${s}⟨U+FE0F⟩`, `U+${c.toString(16)}`);
    assert.equal(visible(`${s}\u200c${s}`), within(joining, c) ? `${s}\u200c${s}` : `${s}⟨U+200C⟩${s}`, `U+${c.toString(16)}`);
  }
});

test('no text takes long, and none fails', async () => {
  const pieces = ['---\n', 'a: ', '\n', '- x\n', '  ', '[', ']', '"', "'", '\\', '{', '}', ',', ':', 'trust: told\n', '[[', ']]', 'mem/a', '\u202e', '😀', '\r'];
  const random = chance(7);
  for (let i = 0; i < 2000; i++) {
    const text = (i % 2 ? '---\na: ' : '') + Array.from({ length: random(60) }, () => pieces[random(pieces.length)]).join('');
    const u = parse(text);
    assert.ok(text.endsWith(u.body));
    for (const slug of u.links) assert.ok(text.includes(`[[${slug}]]`));
  }
  for (const piece of pieces) {
    const text = `---\na: ${piece.repeat(65_536 / piece.length)}`;
    assert.ok(await fastest(() => parse(text), 50) <= 50, JSON.stringify(piece));
  }
});
