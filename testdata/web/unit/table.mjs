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
 * How long something takes at best, in milliseconds: a busy machine slows one run, not all,
 * so it is tried until it was fast enough. The time of the processor counts where it is
 * less than that of the clock, and on a slow machine what of it is not the machine's.
 * @param {() => unknown} f @param {number} enough ms
 */
export async function fastest(f, enough, tries = 12) {
  let best = Infinity;
  for (let i = 0; i < tries && best > enough; i++) {
    const took = await spent(f);
    best = Math.min(best, took > enough ? took / await slowness() : took);
  }
  return best;
}

/** @param {() => unknown} f @returns {Promise<number>} ms */
async function spent(f) {
  const start = performance.now(), cpu = process.cpuUsage();
  await f();
  const { user, system } = process.cpuUsage(cpu);
  return Math.min(performance.now() - start, (user + system) / 1000);
}

const YARD = 4; // ms that the work below takes at most where the machine is not slow

/** How many times as slow as that this machine is, by work that is always the same; one to four. */
async function slowness() {
  let best = Infinity;
  for (let i = 0; i < 5; i++) best = Math.min(best, await spent(() => { for (let n = 0, at = 1; n < 1_000_000; n++) at = Math.imul(at ^ n, 0x6d2b79f5) ^ (at >>> 15); }));
  return Math.min(4, Math.max(1, best / YARD));
}
