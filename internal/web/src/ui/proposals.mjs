// What the owner proposed to this agent, and what became of it.
import { isOwn } from './context.mjs';
import { button, fill, h, nodes } from './dom.mjs';
import { frame } from './frame.mjs';
import { fetched, knownLine, note } from './states.mjs';
import { when } from './time.mjs';
import { shortSlug } from './rows.mjs';
import { visible } from '../text.mjs';
import { W, reasonText } from '../words.mjs';

/** @typedef {import('../owner/proposals.mjs').Proposal} Proposal */

/** Rows before "show more". */
const PAGE = 100;

/**
 * @param {import('./context.mjs').Context} ctx
 * @param {string} agent
 */
export function proposalsPart(ctx, agent) {
  const stop = new AbortController();
  const place = h('div');
  const node = h('section', { 'aria-labelledby': 'proposals-heading' },
    h('div', { class: 'heading' }, h('h2', { id: 'proposals-heading' }, W.proposals.heading),
      !isOwn(ctx, agent) && button(W.propose.new, () => ctx.go({ view: 'agent', agent, part: 'propose' }))),
    h('p', { class: 'hint' }, W.proposals.hint), place);
  fetched(place, async () => ctx.owner.proposals(agent, { signal: stop.signal }), (got) => {
    const line = knownLine(W.nouns.proposal);
    line.show(got.known, got.rows.reduce((n, row) => n + (row.unreadable ? 1 : 0), 0));
    const list = h('ul', { class: 'plain cards' });
    let shown = 0;
    const more = () => {
      for (const row of got.rows.slice(shown, shown + PAGE)) list.append(card(row));
      shown += PAGE;
      const left = got.rows.length - shown;
      fill(rest, left > 0 && button(W.showMore(Math.min(PAGE, left), left), more, { class: 'more' }));
    };
    const rest = h('div');
    more();
    return [line.node, got.rows.length === 0 && got.known.exact && h('p', { class: 'nothing' }, W.proposals.empty), list, rest];
  }, { signal: stop.signal });
  return { node, close: () => stop.abort() };
}

/** @param {Proposal} row */
function card(row) {
  if (row.unreadable) {
    return h('li', { class: 'card' }, h('p', {}, W.memory.unreadable, ': ', reasonText(row.unreadable)), h('p', { class: 'faint' }, when(row.created_at)));
  }
  const answer = row.answer;
  const state = !answer ? 'open' : answer.older ? 'older' : answer.answer;
  const text = h('details', { hidden: !row.text }, h('summary', {}, W.proposals.text));
  text.addEventListener('toggle', () => {
    if (text.open && text.children.length === 1) text.append(frame({ text: row.text ?? '', trust: 'yours', plain: true }));
  });
  return h('li', { class: 'card' }, ...nodes([
    h('p', { class: 'card-head' }, h('strong', {}, W.proposals.kinds[row.propose] ?? visible(row.propose)), ' ', h('span', { class: 'slug' }, visible(shortSlug(row.slug))),
      h('span', { class: `answer answer-${state}` }, W.proposals.states[state])),
    h('p', { class: 'faint' }, when(row.created_at), row.vouch ? ` · ${W.proposals.vouched}` : ''),
    row.why && h('p', {}, W.proposals.why, ' ', h('q', {}, visible(row.why))),
    answer?.answer === 'rejected' && answer.reason && note('info', W.proposals.reason, ' ', visible(answer.reason.slice(0, 2000))),
    answer?.answer === 'accepted' && answer.event && h('p', { class: 'faint' }, W.proposals.written, ' ', h('span', { class: 'slug' }, answer.event.slice(0, 16))),
    text,
  ]));
}
