// What the numbers in an agent's writes say of what is missing (docs/trust.md). The
// whole judgement, over several relays and with what they showed before, is
// `engramctl verify`; this is what one reading of all versions can tell.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js';

/** @typedef {{w: string, n: number, t: number, prev: string, root: string, voids: [number, string][], open: [number, number][], after: {w: string, n: number, id: string}[]}} Link */
/** @typedef {{kind: 'gap' | 'forked' | 'root', n: number}} Finding */
/** @typedef {{w: string, last: number, wholeTo: number | null, findings: Finding[]}} Log */

const MOST = 200_000; // numbers of one log that are looked at
const MAX_VOID = 32, MAX_SPANS = 16; // that one link names

const isLog = (/** @type {unknown} */ s) => typeof s === 'string' && /^[0-9a-f]{8}$/.test(s);
const isId = (/** @type {unknown} */ s) => typeof s === 'string' && /^[0-9a-f]{64}$/.test(s);
const isNumber = (/** @type {unknown} */ n) => typeof n === 'number' && Number.isSafeInteger(n) && n >= 0;

/** The link in a body's member "chain"; null if there is none. @param {unknown} member @returns {Link | null} */
export function parseLink(member) {
  if (typeof member !== 'object' || member === null || Array.isArray(member)) return null;
  const m = /** @type {Record<string, any>} */ (member);
  const { w, n, root } = m, t = m.t ?? 0, prev = m.prev ?? '', voids = m.void ?? [], open = m.open ?? [], after = m.after ?? [];
  if (!isLog(w) || !isNumber(n) || !isId(root) || (n > 0 ? !isId(prev) : prev !== '')) return null;
  if (!isList(voids, MAX_VOID) || !isList(open, MAX_SPANS) || !isList(after, MAX_SPANS) || after.length && n > 0) return null;
  if (!voids.every((/** @type {any} */ v) => isList(v, 2) && isNumber(v[0]) && v[0] < n && isId(v[1]))) return null;
  if (!after.every((/** @type {any} */ h) => isLog(h?.w) && isNumber(h.n) && isId(h.id))) return null;
  let before = -1;
  for (const span of open) {
    if (!isList(span, 2) || !isNumber(span[0]) || !isNumber(span[1]) || span[0] <= before || span[1] < span[0] || span[1] >= n) return null;
    before = span[1];
  }
  return { w, n, t, prev, root, voids, open, after };
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
  /** @type {Set<number>} */ excused = new Set();

  /** @param {number} n @param {string} id */
  know(n, id) {
    const ids = this.ids.get(n) ?? new Set();
    this.ids.set(n, ids.size < 8 ? ids.add(id) : ids);
  }

  /** @param {[number, string][]} voids */
  named(voids) {
    for (const [n, id] of voids) {
      this.know(n, id);
      this.excused.add(n);
    }
  }
}

/**
 * @param {{event: {id: string, created_at: number}, slug: string, text: string | null, members: Record<string, unknown>}[]} opened every version
 * @returns {{logs: Log[], unchained: number}}
 */
export function judge(opened) {
  /** @type {Map<string, Known>} */
  const logs = new Map();
  const at = (/** @type {string} */ w) => {
    const there = logs.get(w) ?? new Known();
    logs.set(w, there);
    return there;
  };
  let unchained = 0;
  for (const { event, slug, text, members } of opened) {
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
    const log = at(link.w);
    const same = log.links.get(link.n) ?? new Map();
    log.links.set(link.n, same.set(event.id, link));
    log.know(link.n, event.id);
    if (link.prev) log.know(link.n - 1, link.prev);
    log.named(link.voids);
    for (const [from, to] of link.open) for (let n = from; n <= to && n < MOST; n++) log.excused.add(n);
    for (const { w, n, id } of link.after) at(w).know(n, id);
  }
  return { logs: [...logs].filter(([, log]) => log.links.size).map(([w, log]) => judgeLog(w, log)).sort((a, b) => b.last - a.last), unchained };
}

/** @param {string} w @param {Known} known @returns {Log} */
function judgeLog(w, { links, ids, excused }) {
  let last = 0;
  for (const n of links.keys()) last = Math.max(last, n);
  /** @type {Finding[]} */
  const findings = [];
  const tree = new Tree();
  /** @type {number | null} */
  let wholeTo = null;
  let forked = false, known = true;
  for (let n = 0; n <= Math.min(last, MOST); n++) {
    const here = links.get(n), said = ids.get(n);
    if (said && said.size > 1) {
      forked = true;
      findings.push({ kind: 'forked', n });
    }
    if (!here && !excused.has(n)) findings.push({ kind: 'gap', n });
    const [id, link] = here ? [...here].sort(([a], [b]) => (a < b ? -1 : 1))[0] : [said?.values().next().value, null];
    // Behind a fork one branch has another root, which was said.
    if (link && known && !forked && link.root !== tree.root()) findings.push({ kind: 'root', n });
    if (!findings.length) wholeTo = n;
    if (id && known) tree.append(id);
    else known = false;
  }
  return { w, last, wholeTo, findings };
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
