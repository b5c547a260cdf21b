// How long the page takes, by its own clock.
import assert from 'node:assert/strict';

/** Has tasks over 50 ms written down, from the next load on. @returns {Promise<() => Promise<number[]>>} asks for them */
export async function longTasks(page) {
  await page.addInitScript(() => {
    window.longTasks = [];
    new PerformanceObserver(list => { for (const entry of list.getEntries()) window.longTasks.push(entry.duration); }).observe({ type: 'longtask', buffered: true });
  });
  return () => page.evaluate(() => window.longTasks);
}

/** Whether all of an agent's memory is decrypted, and what fits on the screen is drawn. */
export const allOpened = (n = 0) => ({ least: Math.min(n, 200) });

/**
 * From the press on an agent, whose relay knows the owner already, to its memory.
 * @returns {Promise<number>} ms
 */
export const measure = (page, agent, { least }, timeout) => page.evaluate(([hex, least, timeout]) => new Promise((resolve, reject) => {
  const began = performance.now();
  const look = () => {
    const known = document.querySelector('main[data-view=memories] .pane-list .known');
    const progress = document.querySelector('.pane-list .progress');
    const open = known && !['loading', undefined].includes(known.dataset.state) && progress.hidden;
    const names = [...document.querySelectorAll('.pane-list .row-name')];
    if (open && names.length >= least && names.length > 0 && !names.some(name => name.classList.contains('faint'))) resolve(performance.now() - began);
    else if (performance.now() - began > timeout) reject(new Error(`not all is shown after ${timeout} ms: ${known?.innerText}; ${progress?.innerText}`));
    else requestAnimationFrame(look);
  };
  document.querySelector(`[data-agent="${hex}"]`).click();
  requestAnimationFrame(look);
}), [agent.hex, least, timeout]);

const YARD = 4; // ms that the work below takes at most where the machine is not slow

/** How many times as slow as that this machine is, by work that is always the same; one to four. */
async function slowness(page) {
  let best = Infinity;
  for (let i = 0; i < 20; i++) {
    best = Math.min(best, await page.evaluate(() => {
      const began = performance.now();
      for (let n = 0, at = 1; n < 1_000_000; n++) at = Math.imul(at ^ n, 0x6d2b79f5) ^ (at >>> 15);
      return performance.now() - began;
    }));
  }
  return Math.min(4, Math.max(1, best / YARD));
}

/**
 * Has each time within its bound, in one of some tries: a busy machine slows one, not all.
 * On a slow machine what is the machine's does not count.
 * @param {(i: number) => Promise<Record<string, [took: number, most: number]>>} once ms
 */
export async function within(page, once, tries = 4) {
  const best = {};
  for (let i = 0; i < tries; i++) {
    const all = Object.entries(await once(i)), slow = await slowness(page);
    for (const [what, [took, most]] of all) if (!(best[what]?.over <= took / slow / most)) best[what] = { over: took / slow / most, text: `${what}: ${took.toFixed(0)} ms of ${most}, on a machine ${slow.toFixed(1)} times as slow` };
    if (Object.values(best).every(({ over }) => over <= 1)) return;
  }
  assert.fail(Object.values(best).filter(({ over }) => over > 1).map(({ text }) => text).join('\n'));
}
