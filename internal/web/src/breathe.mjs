// Work of which nobody knows how much there is: others get their turn between.

const SLICE = 12; // ms of work in one go: somebody may be scrolling

/** @typedef {() => Promise<void>} Breathe gives others their turn, when there was work for long enough */

/** @param {AbortSignal} [signal] ends the work @returns {Breathe} */
export function breathing(signal) {
  let until = performance.now() + SLICE;
  return async () => {
    if (performance.now() < until) return;
    await new Promise((done) => setTimeout(done));
    signal?.throwIfAborted();
    until = performance.now() + SLICE;
  };
}
