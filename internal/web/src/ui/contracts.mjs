// The contracts of this key, read only: what was agreed and said, in the order in which
// it arrived, each signature checked.
import { button, fill, h, nodes, terms } from './dom.mjs';
import { keyText } from './keys.mjs';
import { frame } from './frame.mjs';
import { fetched, knownLine } from './states.mjs';
import { when } from './time.mjs';
import { visible } from '../text.mjs';
import { W, statusText } from '../words.mjs';

/** @typedef {import('../owner/contracts.mjs').ContractEntry} ContractEntry */

const PAGE = 100;

/** @param {import('./context.mjs').Context} ctx @param {import('./router.mjs').Route} route */
export function contractsView(ctx, route) {
  const stop = new AbortController();
  const place = h('div');
  const { signal } = stop;
  if (route.id) {
    const id = route.id;
    const node = h('div', {}, h('p', { class: 'crumb' }, button(W.contracts.back, () => ctx.go({ view: 'contracts' }), { class: 'link' })),
      h('h1', {}, W.contracts.one, ' ', h('span', { class: 'slug' }, visible(id))), place,
      h('p', { class: 'hint' }, W.contracts.verify, ' ', h('code', {}, 'engramctl contract verify'), '.'));
    fetched(place, async () => ctx.owner.contract(id, { signal }), thread, { signal });
    return { node, close: () => stop.abort() };
  }
  const node = h('div', {}, h('h1', {}, W.contracts.heading), h('p', { class: 'lead' }, W.contracts.what), place);
  fetched(place, async () => ctx.owner.contracts({ signal }), (got) => {
    const line = knownLine(W.nouns.contract);
    line.show(got.known);
    return [line.node, got.rows.length === 0 && got.known.exact && h('p', { class: 'nothing' }, W.contracts.none),
      paged(got.rows, (row) => h('li', { class: 'card' },
        h('h2', {}, button(visible((row.description || row.id).slice(0, 200)), () => ctx.go({ view: 'contracts', id: row.id }), { class: 'link' }),
          h('span', { class: 'answer' }, visible(statusText(row.status)))),
        h('p', { class: 'faint' }, h('span', { class: 'slug' }, visible(row.id)), row.updated ? ' · ' : '', row.updated ? when(row.updated) : '')))];
  }, { signal });
  return { node, close: () => stop.abort() };
}

/**
 * @template T
 * @param {T[]} rows
 * @param {(row: T) => HTMLLIElement} make
 */
function paged(rows, make) {
  const list = h('ul', { class: 'plain cards' });
  const rest = h('div');
  let shown = 0;
  const more = () => {
    list.append(...rows.slice(shown, shown + PAGE).map(make));
    shown += PAGE;
    const left = rows.length - shown;
    fill(rest, left > 0 && button(W.showMore(Math.min(PAGE, left), left), more, { class: 'more' }));
  };
  more();
  return h('div', {}, list, rest);
}

/** @param {string | null | undefined} who a key or a name */
const person = (who) => !who ? null : /^[0-9a-f]{64}$/.test(who) ? keyText(who) : visible(who);

/** @param {import('../owner/contracts.mjs').Thread} got */
function thread(got) {
  const { contract } = got;
  const line = knownLine(W.nouns.entry);
  line.show(got.known);
  return [
    terms([[W.contracts.status, visible(statusText(contract.status))], [W.contracts.poster, person(contract.poster)], [W.contracts.worker, person(contract.worker)],
      [W.contracts.amount, contract.amount_sats === null ? null : `${contract.amount_sats.toLocaleString('en')} sats`], [W.contracts.deadline, contract.deadline ? when(contract.deadline, true) : null]]),
    h('p', { class: 'hint' }, W.contracts.told),
    contract.description ? frame({ text: contract.description, trust: 'contract', plain: true }) : null,
    h('section', { class: 'part' }, h('h2', {}, W.contracts.moves), paged(got.transitions, (move) => h('li', { class: 'card' }, ...nodes([
      h('p', { class: 'card-head' }, h('strong', {}, visible(statusText(move.to))), ' ', person(move.by), sign(move.signature),
        move.withdrawn && h('span', { class: 'answer answer-rejected' }, W.contracts.withdrawn)),
      h('p', { class: 'faint' }, move.n === null ? '' : `n ${move.n} · `, when(move.created_at)), move.note ? h('p', {}, h('q', {}, visible(move.note.slice(0, 2000)))) : null])))),
    h('section', { class: 'part' }, h('h2', {}, W.contracts.entries), line.node, paged(got.entries, entryCard)),
  ];
}

/** @param {ContractEntry} entry */
function entryCard(entry) {
  return h('li', { class: 'card' }, ...nodes([
    h('p', { class: 'card-head' }, h('strong', {}, visible(entry.type)), ' ', person(entry.author), sign(entry.signature),
      entry.withdrawn && h('span', { class: 'answer answer-rejected' }, W.contracts.withdrawn), entry.sealed && h('span', { class: 'answer' }, W.contracts.sealed),
      entry.visibility !== 'shared' && h('span', { class: 'answer' }, W.contracts.private)),
    h('p', { class: 'faint' }, entry.n === null ? '' : `n ${entry.n} · `, when(entry.created_at)),
    entry.sealed || entry.content === '' ? null : frame({ text: entry.content.slice(0, 65536), trust: 'contract', plain: true }),
  ]));
}

/** @param {'ok' | 'bad' | 'none'} signature */
const sign = (signature) => h('span', { class: `mark mark-${signature === 'ok' ? 'good' : signature === 'bad' ? 'bad' : 'open'}` }, W.contracts.signature[signature]);
