// The first view: what the page is, and the ways to a key.
import { button, drawing, h } from './dom.mjs';
import { ownPage, plainPage } from './policy.mjs';
import { bare } from './shell.mjs';
import { note } from './states.mjs';
import { W } from '../words.mjs';

/** @typedef {'unlock' | 'extension' | 'bunker' | 'key'} Way */

/**
 * @param {{ended: string | null, unlock: boolean, choose: (way: Way) => void}} options unlock: the key is where the page is from
 */
export function startView({ ended, unlock, choose }) {
  const plain = plainPage();
  /** @param {Way} way */
  const card = (way) => {
    const words = W.ways[way];
    const refused = way === 'key' && plain;
    return h('li', { class: 'way' }, drawing(way === 'unlock' ? 'key' : way), h('div', {},
      h('h3', {}, words.name), h('p', {}, words.what), h('p', { class: 'hint' }, words.limit),
      refused ? h('p', { class: 'refused' }, W.key.plain) : button(words.go, () => choose(way), { class: 'main', 'data-way': way })));
  };
  bare('start', h('div', {},
    ended && note('info', W.ended[/** @type {keyof typeof W.ended} */ (ended)]),
    h('h1', {}, W.start.heading), h('p', { class: 'lead' }, W.start.lead),
    h('ul', { class: 'plain points' }, W.start.points.map((point) => h('li', {}, point))),
    h('section', { 'aria-labelledby': 'ways' }, h('h2', { id: 'ways' }, W.start.ways),
      h('ul', { class: 'plain ways' }, unlock && card('unlock'), card('extension'), card('bunker'), card('key'))),
    h('section', { class: 'origin', 'aria-labelledby': 'origin' }, h('h2', { id: 'origin' }, W.start.origin),
      h('p', {}, ownPage() ? W.start.own : W.start.served(location.host)),
      plain && note('warn', W.start.plain),
      !ownPage() && h('p', {}, W.start.save, ' ', h('code', {}, 'engramctl web --save page.html')))));
}
