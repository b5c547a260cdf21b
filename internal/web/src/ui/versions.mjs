// Earlier versions of one memory, on a click: what stood there when, and what changed.
import { isOwn } from './context.mjs';
import { button, choice, closed, fill, h } from './dom.mjs';
import { frame } from './frame.mjs';
import { note, fetched, knownLine } from './states.mjs';
import { told, when } from './time.mjs';
import { lines } from '../diff.mjs';
import { visible } from '../text.mjs';
import { W, reasonText } from '../words.mjs';

/** @typedef {import('./context.mjs').Context} Context */
/** @typedef {import('./reading.mjs').Entry} Entry */

/** The most versions in the list, and the most lines of a diff that are shown. */
const MOST = 200;
const MOST_LINES = 4000;

/**
 * @param {Context} ctx
 * @param {import('./reading.mjs').Reading} reading
 * @param {Entry} entry
 * @param {AbortSignal} signal
 */
export function versionsPart(ctx, reading, entry, signal) {
  const place = h('div');
  const begin = button(W.versions.go, () => fetched(place,
    async () => ctx.owner.versions(reading.agent, entry, { signal }),
    (got) => shown(ctx, reading, got), { loading: W.versions.loading, signal }));
  fill(place, begin);
  return h('section', { class: 'part versions' }, h('h3', {}, W.versions.heading), h('p', { class: 'hint' }, W.versions.hint), place);
}

/**
 * @param {Context} ctx
 * @param {import('./reading.mjs').Reading} reading
 * @param {import('../owner/versions.mjs').Versions} got
 */
function shown(ctx, reading, got) {
  const line = knownLine(W.nouns.version);
  line.show(got.known, got.versions.reduce((n, one) => n + (one.unreadable !== null ? 1 : 0), 0));
  const silent = got.kept.filter((relay) => !relay.keeps).map((relay) => note('info', W.versions.keepsNone(visible(relay.relay))));
  const versions = got.versions;
  const detail = h('div', { 'aria-live': 'polite' });
  if (versions.length === 0) return [line.node, ...silent];
  /** @param {Entry} version */
  const open = (version) => fill(detail,
    h('h4', {}, W.versions.of, ' ', when(version.event.created_at)),
    version.unreadable !== null ? note('warn', reasonText(version.unreadable))
      : version.text === null ? note('info', W.memory.removed)
        : frame({ text: version.text, trust: version.slug === 'core' ? 'core' : version.unit?.trust ?? 'unknown', plain: true }),
    version.unreadable === null && version.text !== null && version !== versions[0] && !isOwn(ctx, reading.agent)
      && button(W.propose.restore.go, () => ctx.go({ view: 'agent', agent: reading.agent, part: 'propose-restore', slug: version.slug ?? '', id: version.event.id })));
  return [line.node, ...silent, asOf(versions, open, detail), list(versions, open), versions.length > 1 && compare(versions, detail), detail];
}

/** @param {Entry[]} versions @param {(version: Entry) => void} open */
function list(versions, open) {
  return h('ol', { class: 'plain version-list' }, versions.slice(0, MOST).map((version, i) => h('li', {},
    button(i === 0 ? W.versions.now : W.versions.show, () => open(version), { class: 'link', 'aria-label': `${i === 0 ? W.versions.now : W.versions.show} ${version.event.id.slice(0, 8)}` }),
    when(version.event.created_at),
    h('span', { class: 'faint' }, version.unreadable !== null ? W.memory.unreadable : version.text === null ? W.memory.removedShort : W.versions.length(version.text.length)),
    h('span', { class: 'faint slug' }, version.event.id.slice(0, 8)))),
  versions.length > MOST && h('li', { class: 'faint' }, W.andMore(versions.length - MOST)));
}

/**
 * What stood there at a time, by what the versions themselves say of theirs.
 * @param {Entry[]} versions newest first
 * @param {(version: Entry) => void} open
 * @param {HTMLElement} detail
 */
function asOf(versions, open, detail) {
  const input = h('input', { type: 'datetime-local', id: 'as-of', ...closed });
  const go = () => {
    const at = new Date(input.value).getTime() / 1000;
    if (!Number.isFinite(at)) return;
    const version = versions.find((one) => one.event.created_at <= at);
    if (version) open(version);
    else fill(detail, note('info', W.versions.nothingThen));
  };
  return h('div', { class: 'field' }, h('label', { for: 'as-of' }, W.versions.asOf), h('div', { class: 'beside' }, input, button(W.versions.asOfGo, go)));
}

/** @param {Entry[]} versions @param {HTMLElement} detail */
function compare(versions, detail) {
  /** @type {[string, string][]} */
  const options = versions.slice(0, MOST).map((version, i) => [String(i), `${i + 1}. ${told(new Date(Math.min(version.event.created_at, 8.64e12) * 1000))}`]);
  const from = choice(W.versions.from, options, '1', () => {});
  const to = choice(W.versions.to, options, '0', () => {});
  const go = button(W.versions.compare, () => {
    const [a, b] = [versions[Number(from.select.value)], versions[Number(to.select.value)]];
    if (a.unreadable !== null || b.unreadable !== null) fill(detail, note('warn', W.versions.cannotCompare));
    else fill(detail, h('h4', {}, W.versions.changes), diff(a.text ?? '', b.text ?? ''));
  });
  return h('div', { class: 'compare' }, from.node, to.node, go);
}

/**
 * What changed between two texts, line by line; told by signs and words, not by colour alone.
 * @param {string} before
 * @param {string} after
 */
export function diff(before, after) {
  const all = lines(before, after);
  if (all.every((line) => line.op === 'same')) return h('p', { class: 'faint' }, W.versions.same);
  const list = h('ol', { class: 'plain diff', 'aria-label': W.versions.changes });
  // Three lines around each change say where it is.
  const near = new Uint8Array(all.length);
  all.forEach((line, i) => { if (line.op !== 'same') near.fill(1, Math.max(0, i - 3), i + 4); });
  let skipped = 0, shown = 0, i = 0;
  const skip = () => {
    if (skipped > 0) list.append(h('li', { class: 'diff-skip' }, W.versions.skipped(skipped)));
    skipped = 0;
  };
  for (; i < all.length && shown < MOST_LINES; i++) {
    const line = all[i];
    if (!near[i]) {
      skipped++;
      continue;
    }
    skip();
    shown++;
    const sign = line.op === 'add' ? '+' : line.op === 'del' ? '−' : ' ';
    list.append(h('li', { class: `diff-${line.op}` }, h('span', { class: 'sign', 'aria-hidden': 'true' }, sign),
      line.op !== 'same' && h('span', { class: 'spoken' }, W.versions.ops[line.op]), h('span', {}, visible(line.text))));
  }
  skip();
  if (i < all.length) list.append(h('li', { class: 'diff-skip' }, W.andMore(all.length - i)));
  return list;
}
