// How long the page takes, by its own clock.

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
