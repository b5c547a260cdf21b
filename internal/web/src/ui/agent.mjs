// One agent, open: its memories, proposals, log, relays and what can be taken away.
import { button, h } from './dom.mjs';
import { chainPart } from './chain.mjs';
import { exportPart } from './export.mjs';
import { copyButton, keyText, npub } from './keys.mjs';
import { memoriesPart } from './memories.mjs';
import { proposalsPart } from './proposals.mjs';
import { proposeForm } from './propose.mjs';
import { Reading } from './reading.mjs';
import { agentRelaysPart } from './relays.mjs';
import { note } from './states.mjs';
import { W } from '../words.mjs';

/** @typedef {import('./context.mjs').Context} Context */
/** @typedef {import('./router.mjs').Route} Route */

/** Memories of this agent, read on while the owner goes about. One agent at a time. @param {Context} ctx @param {string} agent */
function readingOf(ctx, agent) {
  const there = ctx.open.get(agent);
  if (there) return there;
  for (const reading of ctx.open.values()) reading.close();
  ctx.open.clear();
  const reading = new Reading(ctx, agent);
  ctx.open.set(agent, reading);
  return reading;
}

/** @param {Context} ctx @param {Route} route */
export function agentView(ctx, route) {
  const agent = route.agent ?? '';
  const part = route.part ?? 'memories';
  const reading = readingOf(ctx, agent);
  const tabs = Object.entries(W.agent.parts).map(([name, text]) => h('li', {},
    button(text, () => ctx.go({ view: 'agent', agent, part: name }), { 'data-part': name, 'aria-current': name === part || (name === 'memories' && part.startsWith('propose')) ? 'page' : null })));
  const inner = partOf(ctx, reading, route, part);
  const node = h('div', { class: 'agent-view' },
    h('div', { class: 'agent-head' }, h('p', { class: 'crumb' }, button(W.agent.back, () => ctx.go({ view: 'agents' }), { class: 'link' })),
      h('h1', {}, W.agent.heading, ' ', keyText(agent)), copyButton(npub(agent), W.agent.copy)),
    h('nav', { 'aria-label': W.agent.nav, class: 'tabs' }, h('ul', {}, tabs)), inner.node);
  return {
    node,
    close: inner.close,
    /** @param {Route} to */
    update(to) {
      if (to.view !== 'agent' || to.agent !== agent || (to.part ?? 'memories') !== part || !inner.update) return false;
      inner.update(to);
      return true;
    },
  };
}

/**
 * @param {Context} ctx
 * @param {Reading} reading
 * @param {Route} route
 * @param {string} part
 * @returns {{node: Element, close?: () => void, update?: (route: Route) => void}}
 */
function partOf(ctx, reading, route, part) {
  const entry = route.id ? reading.byID(route.id) : undefined;
  switch (part) {
    case 'proposals': return proposalsPart(ctx, reading.agent);
    case 'chain': return chainPart(ctx, reading.agent);
    case 'relays': return agentRelaysPart(ctx, reading.agent);
    case 'export': return exportPart(ctx, reading.agent);
    case 'propose': return { node: proposeForm(ctx, reading, { kind: 'write' }) };
    case 'propose-edit':
    case 'propose-archive':
    case 'propose-delete':
      if (!entry || entry.text === null) return { node: note('warn', W.memory.absent) };
      return { node: proposeForm(ctx, reading, { kind: /** @type {'edit' | 'archive' | 'delete'} */ (part.slice('propose-'.length)), entry }) };
    case 'propose-restore':
      return { node: proposeForm(ctx, reading, { kind: 'restore', slug: route.slug, version: route.id, entry: route.slug ? reading.at(route.slug) : undefined }) };
    default: return memoriesPart(ctx, reading, route);
  }
}
