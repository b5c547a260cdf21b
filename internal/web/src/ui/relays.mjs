// The relays of this visit, and what each of them has of an agent.
import { button, h } from './dom.mjs';
import { fetched } from './states.mjs';
import { when } from './time.mjs';
import { visible } from '../text.mjs';
import { W, reasonText } from '../words.mjs';

/** @param {import('./context.mjs').Context} ctx */
export function relaysView(ctx) {
  const node = h('div', {}, h('h1', {}, W.relaysView.heading), h('p', { class: 'lead' }, W.relaysView.what),
    h('ul', { class: 'plain cards' }, ctx.relays.map((relay) => h('li', { class: 'card address' }, visible(relay)))),
    h('p', {}, W.relaysView.other), h('p', {}, button(W.relaysView.anew, () => ctx.end('relays'))));
  return { node };
}

/** @param {import('./context.mjs').Context} ctx @param {string} agent */
export function agentRelaysPart(ctx, agent) {
  const stop = new AbortController();
  const place = h('div');
  const node = h('section', { 'aria-labelledby': 'agent-relays' }, h('h2', { id: 'agent-relays' }, W.agentRelays.heading), h('p', {}, W.agentRelays.what), place);
  fetched(place, async () => ctx.owner.relaysOf(agent, { signal: stop.signal }), (rows) => h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': W.agentRelays.table },
    h('table', {}, h('thead', {}, h('tr', {}, W.agentRelays.columns.map((name) => h('th', { scope: 'col' }, name)))),
      h('tbody', {}, rows.map((row) => h('tr', {},
        h('th', { scope: 'row', class: 'address' }, visible(row.relay)),
        h('td', {}, W.agentRelays.states[row.state], row.reason ? `: ${reasonText(row.reason)}` : ''),
        h('td', { class: 'number' }, amount(row.state, row.has)), h('td', { class: 'number' }, row.state === 'complete' ? row.lacks.toLocaleString('en') : W.unknown),
        h('td', {}, row.newest === null ? (row.state === 'complete' ? W.agents.never : W.unknown) : when(row.newest))))))), { signal: stop.signal });
  return { node, close: () => stop.abort() };
}

/** @param {string} state @param {number} n never 0 where nothing is known */
function amount(state, n) {
  if (state === 'complete') return n.toLocaleString('en');
  return n > 0 ? W.atLeast(n) : W.unknown;
}
