// The list of memories: 200 rows, then 200 more when asked. Rows that stay are kept, so
// that reading on does not move what is looked at.
import { inSlices } from './chunks.mjs';
import { button, fill, h, sync } from './dom.mjs';
import { nameOf, typeOf } from './reading.mjs';
import { when } from './time.mjs';
import { W } from '../words.mjs';
import { visible } from '../text.mjs';

/** @typedef {import('./reading.mjs').Entry} Entry */

export const PAGE = 200;

/** @param {string} slug without what every slug begins with */
export const shortSlug = (slug) => slug.startsWith('mem/') ? slug.slice(4) : slug;

/** The most tags that a row shows. */
const MOST_TAGS = 4;

/**
 * @param {Entry} entry
 * @param {(entry: Entry) => void} open
 */
export function row(entry, open) {
  const press = h('button', { type: 'button', class: 'row', 'data-id': entry.event.id, onclick: () => open(entry) });
  return fill(press, ...inside(entry));
}

/** @param {Entry} entry */
function inside(entry) {
  const time = h('span', { class: 'row-time' }, when(entry.event.created_at));
  if (entry.unreadable !== null) {
    return [h('span', { class: 'row-name' }, W.memory.unreadable), time, h('span', { class: 'row-meta' }, h('span', { class: 'slug' }, entry.event.id.slice(0, 16)))];
  }
  if (entry.slug === null) {
    return [h('span', { class: 'row-name faint' }, W.memory.notOpened), time, h('span', { class: 'row-meta' }, h('span', { class: 'slug' }, entry.event.id.slice(0, 16)))];
  }
  const unit = entry.unit;
  const trust = unit?.trust ?? '';
  const tags = (unit?.tags ?? []).slice(0, MOST_TAGS).map((tag) => h('span', { class: 'tag' }, visible(tag.slice(0, 40))));
  return [
    h('span', { class: 'row-name' }, visible(nameOf(entry))),
    time,
    h('span', { class: 'row-meta' },
      h('span', { class: 'slug' }, visible(shortSlug(entry.slug))),
      entry.text === null && h('span', { class: 'state' }, W.memory.removedShort),
      entry.text !== null && h('span', {}, W.types[typeOf(entry)] ?? W.types.unknown),
      trust && entry.slug !== 'core' && h('span', { class: `trust trust-${trust}` }, W.trust[trust]?.name ?? trust),
      unit && unit.state !== 'active' && h('span', { class: 'state' }, W.states[unit.state] ?? unit.state),
      entry.conflict && h('span', { class: 'state state-bad' }, W.memory.conflict),
      entry.address === 'wrong' && h('span', { class: 'state state-bad' }, W.marks.address.wrong),
      tags),
  ];
}

/**
 * @param {{open: (entry: Entry) => void, seen?: (ids: string[]) => void, label: string}} options
 * seen: told which events are in view, so that these are opened first
 */
export function rowList({ open, seen, label }) {
  const list = h('ul', { class: 'plain rows', 'aria-label': label });
  const more = button('', () => { most += PAGE; draw(); }, { class: 'more', hidden: true });
  /** @type {Set<string>} */
  const inView = new Set();
  const observer = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) {
      const id = /** @type {HTMLElement} */ (target.firstElementChild).dataset.id ?? '';
      if (isIntersecting) inView.add(id);
      else inView.delete(id);
    }
    seen?.([...inView]);
  });
  /** @type {Map<string, {node: HTMLLIElement, entry: Entry, as: string}>} */
  const rows = new Map();
  let drawing = 0;
  /** @type {Entry[]} */
  let all = [];
  let most = PAGE;
  let chosen = '';

  const draw = async () => {
    const mine = ++drawing;
    const wanted = new Set();
    // Rows are kept as they are made, so that a list which is drawn anew before it is
    // whole does not begin again.
    await inSlices(all.slice(0, most), (entry) => {
      const { id } = entry.event;
      const as = `${entry.slug}\n${entry.unreadable}\n${entry.conflict}\n${entry.address}`;
      const kept = rows.get(id);
      wanted.add(id);
      if (!kept) {
        const node = h('li', {}, row(entry, open));
        rows.set(id, { node, entry, as });
        observer.observe(node);
      } else if (kept.as !== as || kept.entry !== entry) {
        // The button stays, with the focus that it may have.
        fill(/** @type {Element} */ (kept.node.firstElementChild), ...inside(entry));
        rows.set(id, { node: kept.node, entry, as });
      }
    });
    if (mine !== drawing) return;
    for (const [id, { node }] of rows) {
      if (wanted.has(id)) continue;
      observer.unobserve(node);
      inView.delete(id);
      rows.delete(id);
    }
    sync(list, [...wanted].map((id) => /** @type {{node: HTMLLIElement}} */ (rows.get(id)).node));
    const left = Math.max(0, all.length - most);
    more.hidden = left === 0;
    more.textContent = left > 0 ? W.showMore(Math.min(PAGE, left), left) : '';
    mark(chosen);
  };

  /** @param {string} id */
  const mark = (id) => {
    chosen = id;
    for (const [key, { node }] of rows) {
      if (key === id) node.firstElementChild?.setAttribute('aria-current', 'true');
      else node.firstElementChild?.removeAttribute('aria-current');
    }
  };

  list.addEventListener('keydown', (event) => walk(list, event));

  return {
    node: h('div', {}, list, more),
    mark,
    /** @param {Entry[]} entries @param {boolean} fresh another question: from the top again */
    show(entries, fresh) {
      all = entries;
      if (fresh) most = PAGE;
      draw();
    },
  };
}

/**
 * Arrow keys go from row to row; Tab goes through them as through any buttons.
 * @param {Element} list
 * @param {KeyboardEvent} event
 */
function walk(list, event) {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (step === 0) return;
  const buttons = [...list.querySelectorAll('button')];
  const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
  const to = buttons[at + step];
  if (at < 0 || !to) return;
  event.preventDefault();
  to.focus();
}
