// What the numbers in an agent's writes say of what is missing (docs/trust.md). The
// whole judgement, over several relays and with what they showed before, is
// `engramctl verify`; this is what one reading of all versions can tell.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js';
import { breathing } from './breathe.mjs';

/** @typedef {{w: string, n: number, t: number, prev: string, root: string, voids: [number, string][], open: [number, number][], after: {w: string, n: number, id: string}[]}} Link */
/** @typedef {{kind: 'gap' | 'forked' | 'root', n: number, to: number}} Finding of the numbers n to to: more than one only of a gap */
/** @typedef {{w: string, last: number, wholeTo: number | null, findings: Finding[]}} Log */

const MAX_VOID = 32, MAX_SPANS = 16; // that one link names

const isLog = (/** @type {unknown} */ s) => typeof s === 'string' && /^[0-9a-f]{8}$/.test(s);
const isId = (/** @type {unknown} */ s) => typeof s === 'string' && /^[0-9a-f]{64}$/.test(s);
const isNumber = (/** @type {unknown} */ n) => typeof n === 'number' && Number.isSafeInteger(n) && n >= 0;

/** The link in a body's member "chain"; null if there is none. @param {unknown} member @returns {Link | null} */
export function parseLink(member) {
  if (typeof member !== 'object' || member === null || Array.isArray(member)) return null;
  const m = /** @type {Record<string, any>} */ (member);
  const { w, n, root } = m, t = m.t ?? 0, prev = m.prev ?? '', voids = m.void ?? [], open = m.open ?? [], after = m.after ?? [];
  if (!isLog(w) || !isNumber(n) || typeof t !== 'number' || !isId(root) || (n > 0 ? !isId(prev) : prev !== '')) return null;
  if (!isList(voids, MAX_VOID) || !isList(open, MAX_SPANS) || !isList(after, MAX_SPANS) || after.length && n > 0) return null;
  if (!voids.every((/** @type {any} */ v) => isList(v, 2) && isNumber(v[0]) && v[0] < n && isId(v[1]))) return null;
  if (!after.every((/** @type {any} */ h) => isLog(h?.w) && isNumber(h.n) && isId(h.id))) return null;
  let before = -1;
  for (const span of open) {
    if (!isList(span, 2) || !isNumber(span[0]) || !isNumber(span[1]) || span[0] <= before || span[1] < span[0] || span[1] >= n) return null;
    before = span[1];
  }
  return { w, n, t, prev, root, voids, open, after: after.map(({ w, n, id }) => ({ w, n, id })) };
}

/**
 * What the log needs of a body's members. Others may go deeper than what is copied from
 * one thread to another.
 * @param {Record<string, unknown>} members @returns {Record<string, unknown>}
 */
export function linked(members) {
  const link = Object.hasOwn(members, 'chain') ? parseLink(members.chain) : null;
  return link ? { chain: { ...link, void: link.voids } } : {};
}

/** @param {unknown} v @param {number} most @returns {v is any[]} */
const isList = (v, most) => Array.isArray(v) && v.length <= most;

const UNIT = 512; // ids that a log unit keeps

/**
 * The ids that a log unit keeps at a slug; null for any other text.
 * @param {string} slug @param {string} text @returns {{w: string, first: number, ids: string[], voids: [number, string][]} | null}
 */
export function parseUnit(slug, text) {
  const lines = text.replace(/\n$/, '').split('\n');
  const w = /^writer ([0-9a-f]{8})$/.exec(lines[1] ?? '')?.[1];
  const first = /^first (0|[1-9]\d{0,14})$/.exec(lines[2] ?? '')?.[1];
  if (lines[0] !== 'engramd log 1' || !w || !first || lines.length > 3 + 2 * UNIT) return null;
  /** @type {[number, string][]} */
  const voids = [];
  /** @type {string[]} */
  const ids = [];
  for (const line of lines.slice(3)) {
    const v = /^void (0|[1-9]\d{0,14}) ([0-9a-f]{64})$/.exec(line);
    if (v && !ids.length && voids.length < UNIT) voids.push([Number(v[1]), v[2]]);
    else if (isId(line) && ids.length < UNIT) ids.push(line);
    else return null;
  }
  const n = Number(first);
  const place = ids.length ? n / UNIT : voids[0]?.[0] === n ? `void-${n}` : '';
  return slug === `mem/sys/log/${w}/${place}` ? { w, first: n, ids, voids } : null;
}

/** What is known of one log: events and ids by their number, and which numbers need not be there. */
class Known {
  /** @type {Map<number, Map<string, Link>>} */ links = new Map();
  /** @type {Map<number, Set<string>>} */ ids = new Map();
  /** @type {[number, number][]} from, to */ excused = [];

  /** @param {number} n @param {string} id */
  know(n, id) {
    const ids = this.ids.get(n) ?? new Set();
    this.ids.set(n, ids.size < 8 ? ids.add(id) : ids);
  }

  /** @param {[number, string][]} voids */
  named(voids) {
    for (const [n, id] of voids) {
      this.know(n, id);
      this.excused.push([n, n]);
    }
  }

  /** @param {string} id @param {Link} link */
  link(id, link) {
    const same = this.links.get(link.n) ?? new Map();
    this.links.set(link.n, same.set(id, link));
    this.know(link.n, id);
    if (link.prev) this.know(link.n - 1, link.prev);
    this.named(link.voids);
    this.excused.push(...link.open);
  }
}

/**
 * What it takes is by how much was written, not by the numbers that stand in it.
 * @param {{event: {id: string, created_at: number}, slug: string, text: string | null, members: Record<string, unknown>}[]} opened every version
 * @param {AbortSignal} [signal]
 * @returns {Promise<{logs: Log[], unchained: number}>}
 */
export async function judge(opened, signal) {
  const breathe = breathing(signal);
  /** @type {Map<string, Known>} */
  const logs = new Map();
  const at = (/** @type {string} */ w) => {
    const there = logs.get(w) ?? new Known();
    logs.set(w, there);
    return there;
  };
  let unchained = 0;
  for (const { event, slug, text, members } of opened) {
    await breathe();
    const unit = text === null ? null : parseUnit(slug, text);
    if (unit) {
      const log = at(unit.w);
      log.named([...unit.ids.map((id, i) => /** @type {[number, string]} */ ([unit.first + i, id])), ...unit.voids]);
    }
    const link = Object.hasOwn(members, 'chain') ? parseLink(members.chain) : null;
    if (!link || link.t !== event.created_at) {
      if (!slug.startsWith('mem/sys/log/')) unchained++;
      continue;
    }
    at(link.w).link(event.id, link);
    for (const { w, n, id } of link.after) at(w).know(n, id);
  }
  /** @type {Log[]} */
  const judged = [];
  for (const [w, log] of logs) if (log.links.size) judged.push(await judgeLog(w, log, breathe));
  return { logs: judged.sort((a, b) => b.last - a.last), unchained };
}

/** @param {string} w @param {Known} known @param {import('./breathe.mjs').Breathe} breathe @returns {Promise<Log>} */
async function judgeLog(w, { links, ids, excused }, breathe) {
  let last = 0;
  for (const n of links.keys()) last = Math.max(last, n);
  /** @type {Finding[]} */
  const findings = [];
  const find = (/** @type {Finding['kind']} */ kind, /** @type {number} */ n, to = n) => { findings.push({ kind, n, to }); };
  const missing = without(excused);
  const tree = new Tree();
  let forked = false, known = true, next = 0; // next: the first number that was not looked at
  for (const n of [...ids.keys()].sort((a, b) => a - b)) {
    if (n > last) break;
    await breathe();
    if (n > next) {
      missing(next, n - 1, (from, to) => find('gap', from, to));
      known = false;
    }
    next = n + 1;
    const here = links.get(n), said = /** @type {Set<string>} */ (ids.get(n));
    if (said.size > 1) {
      forked = true;
      find('forked', n);
    }
    if (!here) missing(n, n, () => find('gap', n));
    const [id, link] = here ? first(here) : [/** @type {string} */ (said.values().next().value), null];
    // Behind a fork one branch has another root, which was said.
    if (link && known && !forked && link.root !== tree.root()) find('root', n);
    if (known) tree.append(id);
  }
  const whole = (findings[0]?.n ?? last + 1) - 1;
  return { w, last, wholeTo: whole < 0 ? null : whole, findings };
}

/** The one with the lowest id. @param {Map<string, Link>} links @returns {[string, Link]} */
function first(links) {
  let least = '';
  for (const id of links.keys()) if (!least || id < least) least = id;
  return [least, /** @type {Link} */ (links.get(least))];
}

/**
 * Tells of a stretch of numbers what is in none of these. Stretches come one behind the
 * other.
 * @param {[number, number][]} excused
 * @returns {(from: number, to: number, tell: (from: number, to: number) => void) => void}
 */
function without(excused) {
  const all = excused.sort((a, b) => a[0] - b[0]);
  let i = 0, covered = -1; // the last number of those that were passed
  return (from, to, tell) => {
    for (let at = from; at <= to;) {
      for (; i < all.length && all[i][0] <= at; i++) covered = Math.max(covered, all[i][1]);
      if (covered >= at) {
        at = covered + 1;
        continue;
      }
      const end = Math.min(to, i < all.length ? all[i][0] - 1 : to);
      tell(at, end);
      at = end + 1;
    }
  };
}

/** The Merkle tree over ids (RFC 6962), whose root is known at every size. */
export class Tree {
  /** @type {{size: number, hash: Uint8Array}[]} */ #peaks = [];

  /** @param {string} id */
  append(id) {
    let hash = sha256(concatBytes(Uint8Array.of(0), hexToBytes(id))), size = 1;
    for (let peak = this.#peaks.at(-1); peak?.size === size; peak = this.#peaks.at(-1)) {
      hash = sha256(concatBytes(Uint8Array.of(1), peak.hash, hash));
      size *= 2;
      this.#peaks.pop();
    }
    this.#peaks.push({ size, hash });
  }

  root() {
    if (!this.#peaks.length) return bytesToHex(sha256(new Uint8Array()));
    const hashes = this.#peaks.map((p) => p.hash);
    return bytesToHex(hashes.reduceRight((right, left) => sha256(concatBytes(Uint8Array.of(1), left, right))));
  }
}
