// What changed between two texts, line by line (Myers' algorithm), with a bound on the
// work: texts that differ more are told as taken out and put in whole.

/** @typedef {{op: 'same' | 'add' | 'del', text: string}} Line */

const WORK = 4_000_000;

/** @param {string} before @param {string} after @returns {Line[]} */
export function lines(before, after) {
  const a = before.split('\n'), b = after.split('\n');
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const same = (/** @type {string} */ text) => /** @type {Line} */ ({ op: 'same', text });
  return [
    ...a.slice(0, head).map(same),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(same),
  ];
}

/** @param {string[]} a @param {string[]} b @returns {Line[]} */
function middle(a, b) {
  /** @type {Int32Array[]} */
  const trace = [];
  const most = a.length + b.length;
  const size = 2 * most + 2;
  const furthest = new Int32Array(size);
  let work = 0;
  for (let d = 0; d <= most; d++) {
    trace.push(furthest.slice(most - d, most + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || k !== d && furthest[most + k - 1] < furthest[most + k + 1];
      let x = down ? furthest[most + k + 1] : furthest[most + k - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) { x++; work++; }
      furthest[most + k] = x;
      if (x >= a.length && x - k >= b.length) return back(a, b, trace, d);
    }
    work += 2 * d + 1;
    if (work > WORK) break;
  }
  return whole(a, b);
}

/** @param {string[]} a @param {string[]} b @returns {Line[]} */
const whole = (a, b) => [...a.map((text) => /** @type {Line} */ ({ op: 'del', text })), ...b.map((text) => /** @type {Line} */ ({ op: 'add', text }))];

/**
 * The way back through the traces, each of which is the furthest points of one
 * number of changes.
 * @param {string[]} a @param {string[]} b @param {Int32Array[]} trace @param {number} d
 */
function back(a, b, trace, d) {
  /** @type {Line[]} */
  const found = [];
  let x = a.length, y = b.length;
  const same = (/** @type {number} */ toX, /** @type {number} */ toY) => {
    while (x > toX && y > toY) {
      found.push({ op: 'same', text: a[--x] });
      y--;
    }
  };
  for (; d > 0; d--) {
    const at = (/** @type {number} */ k) => trace[d][k + d];
    const k = x - y;
    const down = k === -d || k !== d && at(k - 1) < at(k + 1);
    const fromX = at(down ? k + 1 : k - 1), fromY = fromX - (down ? k + 1 : k - 1);
    same(fromX, fromY);
    if (down) found.push({ op: 'add', text: b[--y] });
    else found.push({ op: 'del', text: a[--x] });
  }
  same(0, 0);
  return found.reverse();
}
