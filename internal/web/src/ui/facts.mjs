// What stands above the list of memories: how many there are, of which kinds, how far
// they are decrypted, and what changed since the last visit.
import { button, fill, h } from './dom.mjs';
import { isSys } from './reading.mjs';
import { save, visitName } from './settings-store.mjs';
import { knownLine } from './states.mjs';
import { size, when } from './time.mjs';
import { W, knownText } from '../words.mjs';

/** @typedef {import('./context.mjs').Context} Context */
/** @typedef {import('./reading.mjs').Reading} Reading */

/**
 * How many, how large, and of which types.
 * @param {Context} ctx
 * @param {Reading} reading
 * @param {(types: string[]) => void} types told when other types are there
 */
export function countFacts(ctx, reading, types) {
  const line = knownLine(W.nouns.memory);
  // Before all is opened nobody knows which addresses hold a memory and which a removal.
  const addresses = knownLine(W.nouns.address);
  const lines = h('div', {}, addresses.node);
  const sums = h('p', { class: 'facts' });
  let told = false;
  let before = '';
  return {
    line: lines,
    sums,
    show() {
      const [shown, known] = reading.done || reading.total === 0 ? [line, reading.known] : [addresses, { ...reading.known, n: reading.total }];
      shown.show(known, reading.unreadable);
      if (lines.firstChild !== shown.node) fill(lines, shown.node);
      const { types: counted, bytes } = reading.summary();
      const sum = counted.map(([type, n]) => `${n.toLocaleString('en')} ${W.typeNames(type, n)}`).join(', ');
      if (sum !== before) types(counted.map(([type]) => type));
      before = sum;
      sums.textContent = counted.length === 0 ? '' : `${reading.done ? '' : W.memories.soFar}${size(bytes)}: ${sum}`;
      if (!reading.done || told) return;
      told = true;
      ctx.say(knownText(reading.known, W.nouns.memory, reading.unreadable));
    },
  };
}

/**
 * How far a signer has come that decrypts one by one, and a button that stops it.
 * @param {Reading} reading
 */
export function progressFacts(reading) {
  let stopped = false;
  const bar = h('progress', { 'aria-label': W.memories.progress });
  const text = h('span');
  const stop = button(W.stop, () => {
    stopped = !stopped;
    if (stopped) reading.memories.stop();
    else reading.memories.resume();
    stop.textContent = stopped ? W.goOn : W.stop;
  }, { class: 'quiet small' });
  const node = h('div', { class: 'progress', hidden: true }, bar, text, stop);
  return {
    node,
    stopped: () => stopped,
    show() {
      node.hidden = reading.done || reading.total <= reading.opened;
      if (node.hidden) return;
      bar.max = reading.total;
      bar.value = reading.opened;
      text.textContent = W.memories.opened(reading.opened, reading.total);
    },
  };
}

/**
 * What changed since the last visit, where the owner lets the page keep its time.
 * @param {Context} ctx
 * @param {Reading} reading
 * @param {import('./reading.mjs').Filter} filter whose `since` this sets
 * @param {() => void} redraw
 */
export function sinceFacts(ctx, reading, filter, redraw) {
  const node = h('div', { class: 'since' });
  const last = lastVisit(ctx, reading.agent);
  remember(ctx, reading);
  let before = '';
  return {
    node,
    show() {
      if (last === null) return;
      const changed = reading.entries.filter((entry) => entry.event.created_at >= last && (filter.sys || !isSys(entry))).length;
      const now = `${changed} ${filter.since} ${reading.known.exact}`;
      if (now === before) return;
      before = now;
      const flip = button(filter.since === null ? W.memories.showChanged : W.memories.showAll, () => {
        filter.since = filter.since === null ? last : null;
        redraw();
        node.querySelector('button')?.focus();
      }, { class: 'quiet small' });
      fill(node, h('span', {}, W.memories.changed(changed, reading.known.exact), ' ', when(last)), changed > 0 && flip);
    },
  };
}

/** Last visits before this sign-in, which writes its own. @type {Map<string, number | null>} */
const visits = new Map();

/** @param {Context} ctx @param {string} agent @returns {number | null} */
function lastVisit(ctx, agent) {
  const name = visitName(ctx.signer.pubkey, agent);
  if (!visits.has(name)) visits.set(name, ctx.settings.visits ? ctx.settings.last[name] ?? null : null);
  return visits.get(name) ?? null;
}

/** Up to when this visit saw: what is written later is new to the next. @param {Context} ctx @param {Reading} reading */
function remember(ctx, reading) {
  if (!ctx.settings.visits) return;
  ctx.settings.last[visitName(ctx.signer.pubkey, reading.agent)] = reading.began;
  save(ctx.settings);
}
