// Work in slices, so that the page answers between them: no task over 100 ms.

/** How long one slice may take, in ms. */
const SLICE = 24;

/** Gives the browser its turn. */
export const turn = () => new Promise((done) => setTimeout(done, 0));

/**
 * Does something with each item, and lets the page breathe. Ends early, with false,
 * when the signal says so.
 * @template T
 * @param {Iterable<T>} items
 * @param {(item: T, i: number) => void} work
 * @param {AbortSignal} [signal]
 */
export async function inSlices(items, work, signal) {
  let began = performance.now();
  let i = 0;
  for (const item of items) {
    if (signal?.aborted) return false;
    work(item, i++);
    if (performance.now() - began > SLICE) {
      await turn();
      began = performance.now();
    }
  }
  return !signal?.aborted;
}

/**
 * Calls at most once in so many ms, the last time always.
 * @param {() => void} call
 * @param {number} wait ms
 */
export function calmly(call, wait) {
  /** @type {ReturnType<typeof setTimeout> | 0} */
  let timer = 0;
  let last = -Infinity;
  return () => {
    if (timer) return;
    const left = Math.max(0, last + wait - performance.now());
    timer = setTimeout(() => {
      timer = 0;
      last = performance.now();
      call();
    }, left);
  };
}
