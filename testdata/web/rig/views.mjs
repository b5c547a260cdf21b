// Every view of the page, one after the other, and what is looked at in each.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import assert from 'node:assert/strict';
import { shot } from './browser.mjs';

const axeSource = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What a view is looked at as: axe's rules about colours in the dark, all of them in the light. */
const looks = [
  { name: 'light', width: 1280, colorScheme: 'light', rules: null },
  { name: 'dark', width: 1280, colorScheme: 'dark', rules: ['color-contrast', 'link-in-text-block'] },
  { name: 'light-360', width: 360, colorScheme: 'light', rules: null },
  { name: 'dark-360', width: 360, colorScheme: 'dark', rules: [] },
];

/**
 * Looks at a view in light and dark, wide and narrow: axe-core finds nothing, nothing
 * stands beyond the window's edge, and a picture is made where one is asked for.
 * @returns {Promise<string[]>} what was found
 */
export async function inspect(page, name) {
  // What is typed anywhere is neither kept nor sent away for its spelling.
  const found = await page.evaluate(name => [...document.querySelectorAll('input, textarea, select')]
    .filter(field => field.getAttribute('autocomplete') !== 'off' || field.getAttribute('spellcheck') !== 'false').map(field => `${name}: the browser may keep ${field.outerHTML.slice(0, 160)}`), name);
  for (const look of looks) {
    await page.setViewportSize({ width: look.width, height: look.width === 360 ? 740 : 900 });
    await page.emulateMedia({ colorScheme: look.colorScheme });
    const wide = await page.evaluate(() => [...document.querySelectorAll('body *')].filter(node => {
      const box = node.getBoundingClientRect();
      return box.width > 1 && box.right > document.documentElement.clientWidth + 1 && !scrolls(node);
      function scrolls(at) { for (let up = at; up && up !== document.body; up = up.parentElement) if (/auto|scroll|hidden|clip/.test(getComputedStyle(up).overflowX)) return true; return false; }
    }).slice(0, 3).map(node => node.outerHTML.slice(0, 160)));
    const cut = await page.evaluate(() => [...document.querySelectorAll('.scroll')].filter(node => node.scrollWidth > node.clientWidth + 1).map(node => node.outerHTML.slice(0, 160)));
    for (const node of cut) found.push(`${name} (${look.name}): cut off: ${node}`);
    for (const node of wide) found.push(`${name} (${look.name}): beyond the edge: ${node}`);
    if (look.rules === null || look.rules.length) found.push(...(await violations(page, look.rules)).map(text => `${name} (${look.name}): ${text}`));
    await shot(page, `${name}-${look.name}`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
  return found;
}

/** What axe-core finds. @returns {Promise<string[]>} */
export async function violations(page, rules) {
  if (!await page.evaluate(() => 'axe' in window)) await page.evaluate(axeSource);
  const { violations: found, passes } = await page.evaluate(only => window.axe.run(document, { resultTypes: ['violations'], ...(only ? { runOnly: only } : {}) }), rules);
  assert.ok(passes.length + found.length > 0, 'axe-core looked at nothing');
  return found.flatMap(v => v.nodes.map(node => `${v.id}: ${node.target.join(' ')}: ${node.failureSummary?.replaceAll('\n', ' ')} ${node.html.slice(0, 160)}`));
}

/** A picture for the documentation, with this in its middle. */
export async function picture(page, name, colorScheme, middle) {
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ colorScheme });
  await middle.evaluate(node => node.scrollIntoView({ block: 'center' }));
  await shot(page, name);
  await page.emulateMedia({ colorScheme: 'light' });
}
