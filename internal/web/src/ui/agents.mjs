// The agents of this key: those that it approved, and, closed, others that name it.
import { button, closed, fill, h, sync } from './dom.mjs';
import { copyButton, keyText, npub, pubkeyOf } from './keys.mjs';
import { errorText, fetched, knownLine, note } from './states.mjs';
import { when } from './time.mjs';
import { visible } from '../text.mjs';
import { W, knownText } from '../words.mjs';

/** @typedef {import('./context.mjs').Context} Context */
/** @typedef {import('../owner/agents.mjs').AgentRow} AgentRow */

/** @param {Context} ctx */
export function agentsView(ctx) {
  const stop = new AbortController();
  const { signal } = stop;
  const { straight } = ctx;
  ctx.straight = null;
  const place = h('div');
  const node = h('div', {}, h('h1', {}, W.agents.heading), h('p', { class: 'lead' }, W.agents.lead), place, others(ctx, signal), byKey(ctx));
  const line = knownLine(W.nouns.agent);
  const cards = agentCards(ctx);
  const none = h('div');
  /** @param {{rows: AgentRow[], known: import('../owner/known.mjs').Known}} got */
  const shown = (got) => {
    line.show(got.known);
    cards.show(got.rows);
    fill(none, got.rows.length === 0 && got.known.exact && nothing());
    return [line.node, cards.node, none];
  };
  // What one relay knows is shown while another is waited for.
  const soon = (/** @type {Parameters<typeof shown>[0]} */ got) => {
    if (signal.aborted || got.rows.length === 0) return;
    const nodes = shown(got);
    if (cards.node.parentElement !== place) fill(place, nodes);
  };
  fetched(place, async () => ctx.owner.agents({ signal, onChange: soon }), (got) => {
    const only = !straight || !got.known.exact || got.rows.length > 1 ? null : got.rows[0]?.pubkey ?? straight.agent;
    if (only) ctx.go({ view: 'agent', agent: only, part: 'memories' });
    ctx.say(knownText(got.known, W.nouns.agent));
    return shown(got);
  }, { loading: W.agents.loading, signal });
  return { node, close: () => stop.abort() };
}

/**
 * Agents in a list that stays: what is pressed in it is not taken away when more is known.
 * @param {Context} ctx
 */
function agentCards(ctx) {
  const node = h('ul', { class: 'plain cards agents' });
  /** @type {Map<string, {item: HTMLLIElement, facts: HTMLElement, approved: boolean}>} */
  const cards = new Map();
  return {
    node,
    /** @param {AgentRow[]} rows */
    show(rows) {
      sync(node, rows.map((row) => {
        let there = cards.get(row.pubkey);
        if (there?.approved !== row.approved) there = { ...card(ctx, row), approved: row.approved };
        fill(there.facts, factsOf(row));
        cards.set(row.pubkey, there);
        return there.item;
      }));
    },
  };
}

const nothing = () => h('div', { class: 'nothing' }, h('p', {}, W.agents.none), h('p', {}, W.agents.noneHint));

/** @param {Context} ctx @param {AgentRow} row */
function card(ctx, row) {
  const facts = h('p', { class: 'faint' });
  const open = button('', () => ctx.go({ view: 'agent', agent: row.pubkey, part: 'memories' }), { class: 'link', 'data-agent': row.pubkey });
  const item = h('li', { class: 'card agent' },
    h('div', {}, h('h2', {}, fill(open, keyText(row.pubkey)), copyButton(npub(row.pubkey))), facts),
    h('p', { class: 'actions' }, approval(ctx, row)));
  return { item, facts };
}

/** @param {AgentRow} row */
function factsOf(row) {
  const count = row.approved ? `${row.count ? knownText(row.count, W.nouns.address) : W.agents.count} · ` : '';
  return [count, W.agents.newest, ' ', row.newest !== null ? when(row.newest) : row.count?.exact && row.count.n === 0 ? W.agents.never : W.unknown];
}

/**
 * Approve or revoke, in two steps, because a list of the owner's is written anew.
 * @param {Context} ctx
 * @param {{pubkey: string, approved: boolean}} row
 */
function approval(ctx, row) {
  const place = h('span', { class: 'approval' });
  const words = row.approved ? W.agents.revoke : W.agents.approve;
  const ask = () => {
    fill(place, h('span', {}, words.sure), button(words.yes, act, { class: row.approved ? 'danger' : 'main' }), button(W.cancel, () => { begin(); focus(); }, { class: 'quiet' }));
    focus();
  };
  const focus = () => place.querySelector('button')?.focus();
  const begin = () => fill(place, button(words.go, ask, { class: 'quiet small' }));
  const act = async () => {
    fill(place, h('span', { class: 'busy' }, W.agents.writing));
    try {
      const done = await (row.approved ? ctx.owner.revoke(row.pubkey) : ctx.owner.approve(row.pubkey));
      if (done.ok) {
        ctx.say(words.done);
        ctx.again();
      } else {
        fill(place, note('bad', (W.agents.refused[done.reason] ?? W.agents.refused['not-all-answered'])(done.relays.map(visible).join(', '))), button(W.again, act), button(W.cancel, begin, { class: 'quiet' }));
      }
    } catch (error) {
      fill(place, note('bad', errorText(error)), button(W.again, act), button(W.cancel, begin, { class: 'quiet' }));
    }
  };
  begin();
  return place;
}

/** Authors that name this key without its word; asked for only when opened. @param {Context} ctx @param {AbortSignal} signal */
function others(ctx, signal) {
  const place = h('div');
  const details = h('details', { class: 'part others' }, h('summary', {}, h('h2', {}, W.agents.others)), h('p', { class: 'hint' }, W.agents.othersHint), place);
  const cards = agentCards(ctx);
  const more = h('div');
  /** @type {Map<string, AgentRow>} */
  const seen = new Map();
  /** @type {(until: number | undefined) => Promise<void>} */
  const load = (until) => fetched(more, async () => ctx.owner.others({ signal, until }), (got) => {
    for (const { pubkey, newest } of got.rows) {
      if (!seen.has(pubkey)) seen.set(pubkey, { pubkey, approved: false, count: null, newest });
    }
    cards.show([...seen.values()]);
    const line = knownLine(W.nouns.other);
    line.show({ ...got.known, n: seen.size });
    const { until: next } = got;
    return [line.node, next !== null && button(W.agents.further, () => load(next))];
  }, { signal });
  details.addEventListener('toggle', () => {
    if (details.open && place.childElementCount === 0) {
      fill(place, cards.node, more);
      load(undefined);
    }
  });
  return details;
}

/** An agent of whom the owner knows the key. @param {Context} ctx */
function byKey(ctx) {
  const input = h('input', { id: 'agent-key', type: 'text', ...closed, placeholder: 'npub1…' });
  const place = h('div', { 'aria-live': 'polite' });
  const open = () => {
    const pubkey = pubkeyOf(input.value);
    if (pubkey) ctx.go({ view: 'agent', agent: pubkey, part: 'memories' });
    else fill(place, note('warn', W.agents.badKey));
  };
  input.addEventListener('keydown', (event) => { if (event.key === 'Enter') open(); });
  return h('section', { class: 'part', 'aria-labelledby': 'by-key' }, h('h2', { id: 'by-key' }, W.agents.byKey),
    h('div', { class: 'field' }, h('label', { for: 'agent-key' }, W.agents.key), h('div', { class: 'beside' }, input, button(W.agents.openKey, open))), place);
}
