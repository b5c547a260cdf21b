// What the unit tests share: the tables that Go writes, and a source of chance that
// gives the same in every run.
import { readFileSync } from 'node:fs';

/** @param {string} name @returns {Record<string, any>} */
export const table = (name) => JSON.parse(readFileSync(new URL(`../../vectors/${name}`, import.meta.url), 'utf8'));

/** Numbers from 0 to n - 1 (mulberry32). @param {number} seed */
export function chance(seed) {
  return (/** @type {number} */ n) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

/**
 * How long something takes at best, in milliseconds: a busy machine slows one run, not
 * all. The time of the processor counts where it is less than that of the clock.
 * @param {() => void} f
 */
export function fastest(f, runs = 5) {
  let best = Infinity;
  for (let i = 0; i < runs; i++) {
    const start = performance.now(), cpu = process.cpuUsage();
    f();
    const { user, system } = process.cpuUsage(cpu);
    best = Math.min(best, performance.now() - start, (user + system) / 1000);
  }
  return best;
}
