// The tree of slugs. A branch is built when it is opened, so a large memory costs
// nothing until it is looked at.
import { inSlices } from './chunks.mjs';
import { button, h } from './dom.mjs';
import { PAGE, row, shortSlug } from './rows.mjs';
import { W } from '../words.mjs';
import { visible } from '../text.mjs';

/** @typedef {import('./reading.mjs').Entry} Entry */
/** @typedef {{branches: Map<string, Branch>, leaves: Entry[], count: number}} Branch */

/** How deep branches go; what is deeper hangs at the last. */
const DEEPEST = 12;

/**
 * @param {Entry[]} entries
 * @returns {Branch}
 */
export function grow(entries) {
  /** @returns {Branch} */
  const branch = () => ({ branches: new Map(), leaves: [], count: 0 });
  const root = branch();
  for (const entry of entries) {
    let at = root;
    at.count++;
    for (const part of shortSlug(entry.slug ?? '').split('/').slice(0, -1).slice(0, DEEPEST)) {
      let next = at.branches.get(part);
      if (!next) at.branches.set(part, next = branch());
      at = next;
      at.count++;
    }
    at.leaves.push(entry);
  }
  return root;
}

/**
 * @param {Branch} branch
 * @param {(entry: Entry) => void} open
 * @returns {HTMLUListElement}
 */
export function treeList(branch, open) {
  const list = h('ul', { class: 'plain tree' });
  const items = [
    ...[...branch.branches].sort((a, b) => a[0] < b[0] ? -1 : 1).map(([name, inner]) => () => fold(name, inner, open)),
    ...branch.leaves.sort((a, b) => (a.slug ?? '') < (b.slug ?? '') ? -1 : 1).map((entry) => () => h('li', {}, row(entry, open))),
  ];
  let shown = 0;
  const more = async () => {
    const some = items.slice(shown, shown + PAGE);
    shown += some.length;
    await inSlices(some, (item) => list.append(item()));
    const left = items.length - shown;
    if (left <= 0) return;
    const next = h('li', {}, button(W.showMore(Math.min(PAGE, left), left), () => { next.remove(); more(); }, { class: 'more' }));
    list.append(next);
  };
  more();
  return list;
}

/**
 * @param {string} name
 * @param {Branch} branch
 * @param {(entry: Entry) => void} open
 */
function fold(name, branch, open) {
  const details = h('details', {}, h('summary', {}, h('span', { class: 'slug' }, `${visible(name)}/`), ' ', h('span', { class: 'faint' }, W.count(branch.count))));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(treeList(branch, open));
  });
  return h('li', {}, details);
}
