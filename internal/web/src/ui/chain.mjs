// Whether something was left out of the agent's log, as far as the page can tell.
import { button, fill, h } from './dom.mjs';
import { fetched, knownLine, note } from './states.mjs';
import { W } from '../words.mjs';

/** The most findings of a log, and the most logs, that are listed. */
const MOST = 200;
const MOST_LOGS = 50;

/**
 * @param {import('./context.mjs').Context} ctx
 * @param {string} agent
 */
export function chainPart(ctx, agent) {
  const stop = new AbortController();
  const place = h('div');
  const node = h('section', { 'aria-labelledby': 'chain-heading' }, h('h2', { id: 'chain-heading' }, W.chain.heading), h('p', {}, W.chain.what), place,
    h('p', { class: 'hint' }, W.chain.rest, ' ', h('code', {}, 'engramctl verify'), '.'));
  if (!ctx.signer.canCheckAddress) fill(place, note('info', W.chain.notChecked));
  else {
    fill(place, button(W.chain.go, () => fetched(place, async () => ctx.owner.chain(agent, { signal: stop.signal }), shown, { loading: W.chain.loading, signal: stop.signal }), { class: 'main' }));
  }
  return { node, close: () => stop.abort() };
}

/** @param {import('../owner/versions.mjs').Chain} got */
function shown(got) {
  const line = knownLine(W.nouns.version);
  line.show(got.known);
  const logs = got.logs.slice(0, MOST_LOGS).map((log) => h('li', { class: 'card' },
    h('p', { class: 'card-head' }, h('strong', {}, W.chain.log), ' ', h('span', { class: 'slug' }, log.w),
      h('span', { class: `answer answer-${log.findings.length === 0 ? 'accepted' : 'rejected'}` }, log.findings.length === 0 ? W.chain.whole : W.chain.faulty)),
    h('p', {}, log.wholeTo === null ? W.chain.wholeNone : W.chain.wholeTo(log.wholeTo)),
    log.findings.length > 0 && h('ul', {}, log.findings.slice(0, MOST).map((finding) => h('li', {}, W.chain.finding(finding.kind, finding.n, finding.to))),
      log.findings.length > MOST && h('li', { class: 'faint' }, W.andMore(log.findings.length - MOST)))));
  return [line.node, got.logs.length === 0 ? note('info', W.chain.noLog) : h('ul', { class: 'plain cards' }, logs, got.logs.length > MOST_LOGS && h('li', { class: 'card faint' }, W.andMore(got.logs.length - MOST_LOGS))),
    got.unchained > 0 && h('p', {}, W.chain.unchained(got.unchained)), !got.known.exact && note('warn', W.chain.inexact)];
}
