// An agent's memories: the list or the tree, search, and one of them beside it.
import { isOwn } from './context.mjs';
import { button, choice, closed, fill, h, tick } from './dom.mjs';
import { countFacts, progressFacts, sinceFacts } from './facts.mjs';
import { memoryView } from './memory.mjs';
import { REMOVED } from './reading.mjs';
import { rowList } from './rows.mjs';
import { grow, treeList } from './tree.mjs';
import { W } from '../words.mjs';

/** @typedef {import('./context.mjs').Context} Context */
/** @typedef {import('./reading.mjs').Entry} Entry */
/** @typedef {import('./reading.mjs').Filter} Filter */
/** @typedef {import('./reading.mjs').Reading} Reading */

/**
 * @param {Context} ctx
 * @param {Reading} reading
 * @param {import('./router.mjs').Route} route
 */
export function memoriesPart(ctx, reading, route) {
  /** @type {Filter} */
  const filter = { query: '', type: '', state: '', sys: ctx.settings.sys, since: null };
  const open = (/** @type {Entry} */ entry) => ctx.go({ view: 'agent', agent: reading.agent, part: 'memories', id: entry.event.id });
  const one = onePane(ctx, reading);
  const list = rowList({ open, label: W.memories.heading, seen: (ids) => {
    if (!progress.stopped()) reading.memories.want(one.waiting() ?? ids);
  } });
  const tools = toolbar(ctx, reading, filter, () => draw(true));
  const count = countFacts(ctx, reading, tools.types);
  const progress = progressFacts(reading);
  const since = sinceFacts(ctx, reading, filter, () => draw(true));
  const found = h('p', { class: 'found', 'aria-live': 'polite' });
  const place = h('div', {}, list.node);
  let selecting = new AbortController();
  /** @type {Entry[]} */
  let grown = []; // what the tree is of

  const draw = async (/** @type {boolean} */ fresh) => {
    selecting.abort();
    selecting = new AbortController();
    for (const facts of [count, progress, since, tools]) facts.show();
    const entries = await reading.select(filter, selecting.signal);
    if (!entries) return;
    found.textContent = foundText(reading, filter, entries.length);
    if (tools.asTree()) {
      const leaves = entries.filter((entry) => entry.slug !== null);
      // A tree of the same stays as it stands, with the branches that are open.
      if (place.firstElementChild !== list.node && leaves.length === grown.length && leaves.every((entry, i) => entry === grown[i])) return;
      grown = leaves;
      fill(place, treeList(grow(leaves), open));
    } else {
      if (place.firstElementChild !== list.node) fill(place, list.node);
      list.show(entries, fresh);
    }
  };

  const split = h('div', { class: 'split' },
    h('section', { class: 'pane-list', 'aria-labelledby': 'memories-heading' },
      h('div', { class: 'heading' }, h('h2', { id: 'memories-heading' }, W.memories.heading), count.line), count.sums,
      !ctx.signer.canCheckAddress && h('p', { class: 'hint' }, W.memories.unchecked),
      progress.node, since.node, tools.node, found, place),
    one.node);
  const show = (/** @type {import('./router.mjs').Route} */ to) => {
    split.classList.toggle('split-open', to.id !== undefined || to.slug !== undefined);
    list.mark(one.show(to));
  };
  const unwatch = reading.watch(() => draw(false));
  draw(true);
  // The pane is shown once it stands in the page: it takes the focus and the view.
  queueMicrotask(() => show(route));
  return { node: split, update: show, close: () => { unwatch(); selecting.abort(); one.close(); } };
}

/** @param {Reading} reading @param {Filter} filter @param {number} n */
function foundText(reading, filter, n) {
  const asked = filter.query !== '' || filter.type !== '' || filter.state !== '' || filter.since !== null;
  if (!asked) return n === 0 && reading.done && reading.known.exact ? W.memories.empty : '';
  return reading.opened < reading.total ? W.memories.searched(n, reading.opened, reading.total) : W.memories.found(n, reading.known.exact);
}

/**
 * Search and what narrows the list.
 * @param {Context} ctx
 * @param {Reading} reading
 * @param {Filter} filter which it sets
 * @param {() => void} redraw
 */
function toolbar(ctx, reading, filter, redraw) {
  let tree = false;
  const search = h('input', { type: 'search', id: 'search', ...closed, placeholder: W.memories.placeholder });
  search.addEventListener('input', () => { filter.query = search.value; redraw(); });
  const types = choice(W.memories.type, [['', W.memories.allTypes]], '', (value) => { filter.type = value; redraw(); });
  const states = choice(W.memories.state, [['', W.memories.allStates], ...Object.entries(W.states), [REMOVED, W.memory.removedShort], ['unreadable', W.memory.unreadable]], '',
    (value) => { filter.state = value; redraw(); });
  const sys = tick(W.memories.sys, { checked: filter.sys, change: (checked) => { filter.sys = checked; redraw(); } });
  const asTree = button(W.memories.tree, () => {
    tree = !tree;
    asTree.setAttribute('aria-pressed', String(tree));
    redraw();
  }, { class: 'quiet small', 'aria-pressed': 'false', disabled: true });
  const propose = !isOwn(ctx, reading.agent) && button(W.propose.new, () => ctx.go({ view: 'agent', agent: reading.agent, part: 'propose' }), { class: 'quiet small' });
  const anew = button(W.memories.anew, () => {
    ctx.open.delete(reading.agent);
    reading.close();
    ctx.again();
  }, { class: 'quiet small' });
  return {
    node: h('div', { class: 'tools', role: 'search' }, h('div', { class: 'field wide' }, h('label', { for: 'search' }, W.memories.search), search),
      types.node, states.node, h('div', { class: 'tools-row' }, sys.node, asTree, anew, propose)),
    // A tree of what is only partly decrypted would be wrong without saying so.
    asTree: () => tree && reading.done,
    show: () => { asTree.disabled = !reading.done; },
    /** @param {string[]} names */
    types: (names) => {
      fill(types.select, h('option', { value: '' }, W.memories.allTypes), names.map((type) => h('option', { value: type, selected: type === filter.type }, W.types[type] ?? type)));
    },
  };
}

/**
 * The place beside the list, for one memory.
 * @param {Context} ctx
 * @param {Reading} reading
 */
function onePane(ctx, reading) {
  const node = h('section', { class: 'pane-one', 'aria-label': W.memory.label });
  /** @type {Entry | undefined} */
  let entry;
  /** @type {(() => void) | undefined} */
  let close;
  return {
    node,
    close: () => close?.(),
    /** The event that is looked at and not yet opened, which comes before all others. */
    waiting: () => entry && entry.slug === null && entry.unreadable === null ? [entry.event.id] : null,
    /** @param {import('./router.mjs').Route} to @returns {string} the id of the event that it shows */
    show(to) {
      close?.();
      close = undefined;
      entry = to.id ? reading.byID(to.id) : to.slug ? reading.at(to.slug) : undefined;
      if (!to.id && !to.slug) {
        fill(node, h('p', { class: 'nothing' }, W.memory.choose));
        return '';
      }
      const back = button(W.memory.back, () => ctx.go({ view: 'agent', agent: reading.agent, part: 'memories' }), { class: 'quiet back' });
      if (entry) {
        const view = memoryView(ctx, reading, entry);
        close = view.close;
        fill(node, back, view.node);
      } else {
        fill(node, back, h('h2', {}, W.memory.absent), h('p', { class: 'slug' }, (to.slug ?? '').slice(0, 400)), h('p', {}, reading.done && reading.known.exact ? W.memory.absentSure : W.memory.absentUnsure));
      }
      const heading = node.querySelector('h2');
      heading?.setAttribute('tabindex', '-1');
      heading?.focus({ preventScroll: true });
      const beside = matchMedia('(min-width: 66rem)').matches;
      if (!beside || node.getBoundingClientRect().top < 0) node.scrollIntoView({ block: 'start' });
      return entry?.event.id ?? '';
    },
  };
}
