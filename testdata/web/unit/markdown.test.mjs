import assert from 'node:assert/strict';
import { test } from 'node:test';
import { render } from '../../../internal/web/src/markdown.mjs';
import { visible } from '../../../internal/web/src/text.mjs';
import { FakeNode, fakeDocument } from './document.mjs';
import { chance, fastest } from './table.mjs';

const shape = (text, o = {}) => render(text, fakeDocument, { slugs: () => {}, ...o }).shape;
const NAMES = new Set(['#fragment', '#text', 'p', 'h4', 'h5', 'h6', 'em', 'strong', 'code', 'pre', 'ul', 'ol', 'li', 'blockquote', 'hr', 'button', 'span']);

test('what the subset knows becomes elements', () => {
  for (const [text, want] of [
    ['', ''], ['one\ntwo\n\nthree', '<p>one\ntwo</p><p>three</p>'], ['# One\n## Two \n###### Six', '<h4>One</h4><h5>Two</h5><h6>Six</h6>'], ['#no', '<p>#no</p>'], ['####### seven', '<p>####### seven</p>'],
    ['a *b* **c** _d_ __e__', '<p>a <em>b</em> <strong>c</strong> <em>d</em> <strong>e</strong></p>'], ['*a **b** c*', '<p><em>a <strong>b</strong> c</em></p>'],
    ['snake_case_name and 2 * 3 * 4', '<p>snake_case_name and 2 * 3 * 4</p>'], ['*open', '<p>*open</p>'], ['* * *', '<hr></hr>'], ['a ** b ** c', '<p>a ** b ** c</p>'],
    ['`a *b* <i>`', '<p><code>a *b* <i></code></p>'], ['``a ` b`` `', '<p><code>a ` b</code> `</p>'], ['`open', '<p>`open</p>'], ['```js\n# x\n*y*\n```\nz', '<pre><code># x\n*y*</code></pre><p>z</p>'], ['~~~\nopen', '<pre><code>open</code></pre>'],
    ['````\n```\n````\nx', '<pre><code>```</code></pre><p>x</p>'], ['- a\n- b\n  - c\n\n1. d\n2) e', '<ul><li>a</li><li><p>b</p><ul><li>c</li></ul></li></ul><ol><li>d</li><li>e</li></ol>'], ['> a\n> > b\n\nc', '<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><p>c</p>'],
    ['---\n***\n_ _ _', '<hr></hr><hr></hr><hr></hr>'], ['a\r\nb', '<p>a\nb</p>'],
  ]) assert.equal(shape(text), want, JSON.stringify(text));
});

test('all else is literal', () => {
  for (const text of ['<img src=x onerror=alert(1)>', '<script>alert(1)</script>', '&lt;b&gt;', '[a](javascript:alert(1))', '![a](data:x)', '<javascript:alert(1)>', '[a]: x', 'javascript:alert(1)', '[[javascript:x]]', '[[mem/A]]', '[[ mem/a ]]', '[[mem//a]]', '[[a]]', '[[mem/_a]]', '[[cores]]', '| a | b |', 'data:text/html,x', 'nostr:npub1x']) {
    const out = render(text, fakeDocument, { slugs: () => {} });
    assert.equal(out.textContent, text);
    assert.deepEqual([...out.all()].map((n) => n.name).filter((n) => !['#fragment', '#text', 'p'].includes(n)), [], text);
  }
});

test('only slugs can be pressed, and addresses have what the caller gives', () => {
  const pressed = [], copied = [];
  const out = render('see [[mem/a]] and [x](https://evil.example/a?b) and `[[mem/code]]`', fakeDocument, {
    slugs: (s) => pressed.push(s), copy: (address) => { copied.push(address); return new FakeNode('copy'); },
  });
  const buttons = [...out.all()].filter((n) => n.name === 'button');
  assert.equal(buttons.length, 1);
  assert.equal(buttons[0].attributes.type, 'button');
  buttons[0].listeners.click();
  assert.deepEqual(pressed, ['mem/a']);
  assert.equal(copied.length, 1);
  assert.ok(copied[0].startsWith('https://evil.example/a?b'));
  assert.equal([...out.all()].filter((n) => n.name === 'copy').length, 1);
});

test('what hides or turns the direction is shown, wherever it stands', () => {
  const evil = '\u202e\u2066\u200b\u0000\u001b\u{e0041}';
  for (const text of [evil, `# ${evil}`, `*${evil}*`, `\`${evil}\``, `\`\`\`\n${evil}\n\`\`\``, `- ${evil}`, `> ${evil}`, `https://a.example/${evil}`, `[x](https://a/${evil})`]) {
    const shown = render(text, fakeDocument, { slugs: () => {} }).textContent;
    assert.ok(shown.includes('⟨U+202E⟩') && shown.includes('⟨U+E0041⟩'), JSON.stringify(text));
    assert.equal(shown, visible(shown));
  }
});

test('no text makes more than the elements of the subset, or loses words', () => {
  const pieces = ['*', '**', '_', '__', '`', '``', '```', '\n', '\n\n', '# ', '> ', '- ', '1. ', '  ', '---', '[[mem/a]]', '[[', ']]', 'https://x.example/', '<b>', 'word', ' ', 'h', '[', '\t', '~~~', '\u202e', '\\', '!', '\r\n'];
  const random = chance(11);
  for (let i = 0; i < 4000; i++) {
    let text = '', words = 0;
    for (let n = random(40); n > 0; n--) {
      const piece = pieces[random(pieces.length)];
      text += piece;
      if (piece === 'word') text += `${words++}w`;
    }
    const out = render(text, fakeDocument, { slugs: () => {} });
    let depth = 0;
    const walk = (node, d) => { depth = Math.max(depth, d); node.children.forEach((c) => walk(c, d + 1)); };
    walk(out, 0);
    assert.ok(depth < 30);
    for (const node of out.all()) {
      assert.ok(NAMES.has(node.name), node.name);
      for (const key of Object.keys(node.attributes)) assert.ok(['class', 'type', 'start'].includes(key), key);
      assert.deepEqual(Object.keys(node.listeners), node.name === 'button' ? ['click'] : []);
    }
    // The info of a code fence is what a text may lose.
    if (!/```|~~~/.test(text)) for (let w = 0; w < words; w++) assert.ok(out.textContent.includes(`word${w}w`), JSON.stringify(text));
  }
});

test('64 KiB of any repeated delimiter takes 50 ms at most', async () => {
  const pieces = ['*', '**', '***', '_', '__', '`', '``', '` `` ', '```', '```\n', '~', '~~~\n', '#', '# ', '# \n', '> ', '>', '- ', '-', '- \n', '- -', '* ', '1. ', '1. \n', '[', '[[', '[[mem/a', '[[mem/a]]', ']]', '](', 'http', 'https://', 'https://x ', '<', '\\', '!', '|', '\n',
    '\r', '\t', ' ', 'a*', '*a', '_a', 'a_', '*a_', '**a*', '`a', 'h', '> - ', '  - ', '\u202e', '&', '*a* ', '**a** ', '> \n', '\n\n', '=', '+ ', '---\n', '_ ', '[a](b)', '# a  ', `#${' '.repeat(900)}x\n`, `- ${' '.repeat(900)}x\n`, `${'- '.repeat(450)}x\n`];
  // What is long and ends wrong is no cheaper to see through than what ends right.
  const ends = [['~', '`'], ['`', '~`'], ['#', 'x'], ['- ', 'x'], ['* ', '`'], ['_', '*'], ['[[mem/a', '[['], [' ', '`']];
  for (const [piece, end] of [...pieces.map((piece) => [piece, '']), ...ends]) {
    const text = piece.repeat(Math.ceil(65_536 / piece.length)) + end;
    const ms = await fastest(() => render(text, fakeDocument, { slugs: () => {} }), 50);
    assert.ok(ms <= 50, `${JSON.stringify(piece.slice(0, 20))} takes ${ms.toFixed(1)} ms`);
  }
});
