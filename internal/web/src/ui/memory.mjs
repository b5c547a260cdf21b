// One memory. Its text stands in a frame that says whose words they are, and in which
// there is nothing to press but links to other memories.
import { isOwn } from './context.mjs';
import { button, fill, h, nodes, terms } from './dom.mjs';
import { frame } from './frame.mjs';
import { copyButton } from './keys.mjs';
import { linksFrom, nameOf, typeOf } from './reading.mjs';
import { shortSlug } from './rows.mjs';
import { note } from './states.mjs';
import { size, when } from './time.mjs';
import { versionsPart } from './versions.mjs';
import { visible } from '../text.mjs';
import { items } from '../unit/value.mjs';
import { W, reasonText } from '../words.mjs';

/** @typedef {import('./context.mjs').Context} Context */
/** @typedef {import('./reading.mjs').Entry} Entry */

/** The most values of one field, and links, that are listed. */
const MOST = 100;

/** Fields that stand elsewhere in the view. */
const ELSEWHERE = new Set(['title', 'tags', 'trust', 'type', 'state', 'links_to']);

/**
 * @param {Context} ctx
 * @param {import('./reading.mjs').Reading} reading
 * @param {Entry} entry
 */
export function memoryView(ctx, reading, entry) {
  const stop = new AbortController();
  const node = h('article', { class: 'memory' });
  const draw = () => fill(node, ...inside(ctx, reading, entry, stop.signal));
  draw();
  // Opened while it is looked at: the text takes the place of the waiting line.
  let before = state(entry);
  const unwatch = reading.watch(() => {
    if (state(entry) === before) return;
    before = state(entry);
    draw();
  });
  if (entry.slug === null && entry.unreadable === null) reading.memories.want([entry.event.id]);
  return { node, close: () => { stop.abort(); unwatch(); } };
}

/** @param {Entry} entry */
const state = (entry) => `${entry.slug}\n${entry.unreadable}\n${entry.conflict}\n${entry.address}`;

/**
 * @param {Context} ctx
 * @param {import('./reading.mjs').Reading} reading
 * @param {Entry} entry
 * @param {AbortSignal} signal
 */
function inside(ctx, reading, entry, signal) {
  if (entry.unreadable !== null) {
    return [h('h2', {}, W.memory.unreadable), note('warn', reasonText(entry.unreadable)), terms([[W.memory.changed, when(entry.event.created_at)]]), raw(entry)];
  }
  if (entry.slug === null) return [h('h2', {}, W.memory.opening), h('p', { class: 'busy' }, W.memory.wait), raw(entry)];
  const slug = entry.slug;
  const follow = (/** @type {string} */ to) => ctx.go({ view: 'agent', agent: reading.agent, part: 'memories', slug: whole(to) });
  const unit = entry.unit;
  const title = nameOf(entry);
  return nodes([
    h('header', {},
      // The place, not the title: a title is the memory's own words, and stands in the frame.
      h('div', { class: 'place' }, h('h2', { class: 'slug' }, visible(shortSlug(slug))), copyButton(slug)),
      h('p', { class: 'under faint' }, entry.text !== null && `${W.types[typeOf(entry)] ?? W.types.unknown} · `, unit ? W.states[unit.state] ?? visible(unit.state) : '', unit ? ' · ' : '', W.memory.changed, ' ', when(entry.event.created_at), entry.text !== null && ` · ${size(entry.text.length)}`),
      unit && unit.tags.length > 0 && h('ul', { class: 'plain tags', 'aria-label': W.memory.tags }, unit.tags.slice(0, MOST).map((tag) => h('li', { class: 'tag' }, visible(tag.slice(0, 200)))))),
    entry.conflict && note('warn', W.memory.conflictTold),
    entry.text === null
      ? note('info', W.memory.removed)
      : frame({ text: slug === 'core' ? entry.text : unit?.body ?? entry.text, trust: slug === 'core' ? 'core' : unit?.trust ?? 'unknown', title: unit?.description ? title : '', follow }),
    actions(ctx, reading, entry),
    fieldsOf(entry),
    entry.text !== null && linksOf(ctx, reading, entry, follow, signal),
    marks(ctx, entry),
    versionsPart(ctx, reading, entry, signal),
    raw(entry),
  ]);
}

/** @param {string} slug as links have it, with or without what every slug begins with */
const whole = (slug) => slug === 'core' || slug.startsWith('mem/') ? slug : `mem/${slug}`;

/** @param {Context} ctx @param {import('./reading.mjs').Reading} reading @param {Entry} entry */
function actions(ctx, reading, entry) {
  if (isOwn(ctx, reading.agent) || entry.text === null) return null;
  const go = (/** @type {string} */ part) => ctx.go({ view: 'agent', agent: reading.agent, part, id: entry.event.id });
  return h('div', { class: 'propose' }, h('p', { class: 'hint' }, W.propose.hint),
    h('p', { class: 'actions' }, button(W.propose.edit.go, () => go('propose-edit')),
      entry.slug !== 'core' && button(W.propose.archive.go, () => go('propose-archive')),
      entry.slug !== 'core' && button(W.propose.delete.go, () => go('propose-delete'))));
}

/** @param {Entry} entry */
function fieldsOf(entry) {
  if (!entry.unit) return null;
  /** @type {[string, string][]} */
  const pairs = entry.unit.fields.filter(([key]) => !ELSEWHERE.has(key)).slice(0, MOST)
    .map(([key, value]) => [visible(key), valuesOf(value).map((one) => visible(one.slice(0, 1000))).join(', ')]);
  return pairs.length > 0 && h('section', { class: 'part' }, h('h3', {}, W.memory.fields), terms(pairs));
}

/** @param {import('../unit/value.mjs').Value} value */
const valuesOf = (value) => (value.pairs?.map(([key, one]) => `${key}: ${one}`) ?? items(value)).slice(0, MOST);

/**
 * @param {Context} ctx
 * @param {import('./reading.mjs').Reading} reading
 * @param {Entry} entry
 * @param {(slug: string) => void} follow
 * @param {AbortSignal} signal
 */
function linksOf(ctx, reading, entry, follow, signal) {
  const slug = entry.slug ?? '';
  /** @param {string[]} slugs */
  const list = (slugs) => h('ul', { class: 'plain links' }, slugs.slice(0, MOST).map((to) => h('li', {}, button(visible(shortSlug(to)), () => follow(to), { class: 'link slug' }))),
    slugs.length > MOST && h('li', { class: 'faint' }, W.andMore(slugs.length - MOST)));
  const back = h('div', {}, h('p', { class: 'faint' }, W.loading));
  reading.backlinks(slug, signal).then((found) => {
    if (!found) return;
    const part = reading.done ? '' : W.memory.linksSoFar(reading.opened, reading.total);
    fill(back, found.length > 0 ? list(found.map((from) => from.slug ?? '')) : h('p', { class: 'faint' }, reading.done ? W.memory.noBacklinks : ''), part && h('p', { class: 'faint' }, part));
  });
  const links = linksFrom(entry);
  return h('section', { class: 'part' }, h('h3', {}, W.memory.links),
    h('div', { class: 'two' },
      h('div', {}, h('h4', {}, W.memory.linksTo), links.length > 0 ? list(links) : h('p', { class: 'faint' }, W.memory.noLinks)),
      h('div', {}, h('h4', {}, W.memory.backlinks), back)));
}

/** @param {Context} ctx @param {Entry} entry */
function marks(ctx, entry) {
  const trust = entry.slug === 'core' ? W.trust.core : W.trust[entry.unit?.trust ?? ''] ?? W.trust.unknown;
  /** @param {'good' | 'bad' | 'open'} kind @param {string} text */
  const mark = (kind, text) => h('span', { class: `mark mark-${kind}` }, text);
  return h('section', { class: 'part' }, h('h3', {}, W.marks.heading), terms([
    [W.marks.signatureName, mark('good', W.marks.signature)],
    [W.marks.addressName, mark(entry.address === 'ok' ? 'good' : entry.address === 'wrong' ? 'bad' : 'open', W.marks.address[entry.address])],
    [W.marks.utf8Name, entry.utf8 === 'ok' ? mark('good', W.marks.utf8.ok) : mark('open', W.marks.utf8.unchecked)],
    [W.marks.trustName, entry.text !== null && `${trust.name}. ${trust.whose}`],
    [W.marks.relays, h('ul', { class: 'plain' }, entry.relays.map((relay) => h('li', { class: 'address' }, visible(relay))))],
  ]));
}

/** @param {Entry} entry */
function raw(entry) {
  const details = h('details', { class: 'raw' }, h('summary', {}, W.memory.raw));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) {
      const text = JSON.stringify(entry.event, null, 2);
      details.append(h('pre', { tabindex: '0', role: 'group', 'aria-label': W.memory.raw }, visible(text)));
      const copy = copyButton(JSON.stringify(entry.event));
      if (copy) details.append(copy);
    }
  });
  return details;
}
