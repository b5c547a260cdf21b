// The frame around words that are not the page's: it says whose they are, and holds
// nothing to press but links to other memories, and what copies an address.
import { h } from './dom.mjs';
import { copyButton } from './keys.mjs';
import { render } from '../markdown.mjs';
import { visible } from '../text.mjs';
import { W } from '../words.mjs';

/** The level of the frame's own heading; those in the text stand below it. */
const LEVEL = 3;

/**
 * The text of somebody in its frame.
 * @param {{text: string, trust: string, title?: string, follow?: (slug: string) => void, plain?: boolean}} what
 */
export function frame({ text, trust, title = '', follow, plain = false }) {
  const words = W.trust[trust] ?? W.trust.unknown;
  const literal = plain || !follow;
  const inside = h('div', { class: 'frame-text', translate: 'no', 'data-memory': true, dir: 'auto' });
  if (title !== '') inside.append(h('p', { class: 'frame-title' }, visible(title)));
  if (literal) inside.append(h('pre', {}, visible(text)));
  else inside.append(levelled(render(text, document, { slugs: follow, copy: copying() })));
  return h('div', { class: `frame frame-${W.trust[trust] ? trust : 'unknown'}`, role: 'group', 'aria-label': W.memory.frame },
    h('div', { class: 'frame-head' }, h(literal ? 'strong' : 'h3', {}, words.name), h('span', {}, words.whose)), inside);
}

/** The most addresses of one text that have a button. */
const MOST_COPIES = 50;

function copying() {
  let left = MOST_COPIES;
  return (/** @type {string} */ address) => (left-- > 0 ? copyButton(address) : null) ?? document.createTextNode('');
}

/**
 * Gives the text's headings levels without gaps, whatever it says.
 * @param {DocumentFragment} text
 */
function levelled(text) {
  let before = LEVEL;
  for (const heading of text.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    before = Math.min(before + 1, Math.max(LEVEL + 1, Number(heading.tagName[1])));
    heading.setAttribute('aria-level', String(before));
  }
  return text;
}
