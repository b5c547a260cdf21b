// Five thousand memories that want something of the page, and how fast it is: measured,
// so run when nothing else is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Watch, openBrowser, shot } from '../rig/browser.mjs';
import { exactly, quiet, signIn } from '../rig/flow.mjs';
import { harmless } from '../rig/harmless.mjs';
import { BROKEN, LONG, fill, hostile, plain } from '../rig/hostile.mjs';
import { allOpened, longTasks, measure, within } from '../rig/speed.mjs';
import { newParty, startRelay } from '../rig/relay.mjs';

const N = 5000, LONGEST = 400; // ms that one task may take: four times what is wanted

test('five thousand hostile memories', { timeout: 1_800_000 }, async t => {
  const relay = await startRelay(t);
  const owner = await newParty(relay, 'owner'), agent = await newParty(relay, 'agent');
  await fill(relay, owner, agent, hostile(N));
  await owner.ctl(['agents', 'allow', agent.npub]);
  const page = (await openBrowser(t)).pages()[0];
  const watch = new Watch(page);
  const tasks = await longTasks(page);

  const steps = {
    'are all opened, and those that lie are counted apart': async () => {
      await signIn(page, `${relay.http}/app/`, owner);
      await page.locator(`[data-agent="${agent.hex}"]`).waitFor();
      const took = await measure(page, agent, allOpened(), 600_000);
      t.diagnostic(`${N} memories, 20 of them of ${LONG} bytes: all opened in ${(took / 1000).toFixed(1)} s`);
      const known = page.locator('.pane-list .known');
      assert.match(await known.innerText(), new RegExp(`at least ${(N - BROKEN).toLocaleString('en')} memories \\(${BROKEN} unreadable\\)`));
      await exactly(page.locator('.row'), 200);
      await page.locator('.more').click();
      await exactly(page.locator('.row'), 400);
      await shot(page, 'hostile');
      await harmless(page);
    },
    'are found, and shown as text': async () => {
      for (const query of ['onerror', 'javascript', 'srcdoc', 'gnp.exe', 'nsec', 'refresh', 'onload', 'onmouseover', 'owner’s own', 'names of every']) {
        await search(page, query);
        await openFirst(page);
        await harmless(page);
        if (query === 'nsec') await shot(page, 'hostile-text');
      }
    },
    'with 60,000 bytes in one line': async () => {
      await search(page, 'long');
      await exactly(page.locator('.row', { hasText: 'long/n' }), 20);
      for (let i = 0; i < 20; i++) {
        await openFirst(page, i);
        await harmless(page);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is wider than the window');
      }
      await page.fill('#search', '');
    },
    'in a tree': async () => {
      await page.getByRole('button', { name: 'As a tree' }).click();
      await page.locator('.tree summary', { hasText: /^h\/ / }).first().click();
      const branch = page.locator('.tree .tree summary').first();
      await branch.waitFor();
      await harmless(page);
      await page.fill('#search', ' '); // which finds all of them again
      await page.locator('.found', { hasText: 'found' }).waitFor();
      assert.ok(await branch.isVisible(), 'branches that were open are not');
      await page.fill('#search', '');
      await page.getByRole('button', { name: 'As a tree' }).click();
      await page.locator('.rows .row').first().waitFor();
    },
  };
  for (const [name, step] of Object.entries(steps)) await t.test(name, step);

  await t.test('and the page goes on answering', async () => {
    await within(page, async i => {
      if (i > 0) for (const step of Object.values(steps)) await step();
      return { 'the longest task': [longest(t, await tasks()), LONGEST] };
    });
  });

  await t.test('ask for nothing but the relay; and what would ask is seen', async () => {
    quiet(watch, [relay.http, relay.url]);
    const before = watch.policy.length;
    await page.evaluate(() => {
      document.body.append(Object.assign(document.createElement('img'), { src: 'https://elsewhere.invalid/planted.png' }));
      return fetch('https://elsewhere.invalid/planted').catch(() => {});
    });
    await assert.doesNotReject(watch.until(() => watch.policy.length >= before + 2));
    assert.ok(watch.policy.some(text => /connect-src/.test(text)) && watch.policy.some(text => /img-src/.test(text)), watch.policy.join('\n'));
  });
});

/** Searches, from no search on, until the list is of these words: what is unreadable, the newest of all, is in none. */
async function search(page, words) {
  const unreadable = page.locator('.row', { hasText: 'Unreadable' }).first();
  await page.fill('#search', '');
  await unreadable.waitFor();
  await page.fill('#search', words);
  await page.locator('.found', { hasText: 'found' }).waitFor();
  await unreadable.waitFor({ state: 'detached' });
}

/** Opens the first row, or one behind it. */
async function openFirst(page, i = 0) {
  // Which it is and the press on it are one step: the list may be drawn between two.
  const slug = await page.locator('.row').nth(i).evaluate(row => {
    row.click();
    return row.querySelector('.slug').innerText;
  });
  await page.locator('.pane-one .place .slug').getByText(slug, { exact: true }).waitFor();
  await page.locator('.pane-one [data-memory]').waitFor();
}

/** The longest of these tasks, in ms. */
function longest(t, tasks) {
  const most = Math.max(0, ...tasks);
  t.diagnostic(`tasks over 100 ms: ${tasks.filter(ms => ms > 100).length}; the longest: ${most.toFixed(0)} ms`);
  return most;
}

test('50 memories in half a second, 1,000 in two', { timeout: 1_800_000 }, async t => {
  const relay = await startRelay(t);
  const owner = await newParty(relay, 'owner');
  const page = (await openBrowser(t)).pages()[0];
  const tasks = await longTasks(page);
  const runs = [];
  for (const n of [50, 1000]) {
    const agent = await newParty(relay, `agent-${n}`);
    await fill(relay, owner, agent, plain(n));
    await owner.ctl(['agents', 'allow', agent.npub]);
    runs.push({ n, agent, limit: n === 50 ? 500 : 2000 });
  }
  await within(page, async () => {
    const took = {};
    await signIn(page, `${relay.http}/app/`, owner);
    for (const { n, agent, limit } of runs) {
      await page.locator('[data-nav=agents]').click();
      await page.locator(`[data-agent="${agent.hex}"]`).waitFor();
      const ms = await measure(page, agent, allOpened(n), 600_000);
      t.diagnostic(`${n} memories decrypted and shown in ${ms.toFixed(0)} ms (wanted: ${limit})`);
      took[`${n} memories`] = [ms, 4 * limit];
    }
    took['the longest task'] = [longest(t, await tasks()), LONGEST];
    return took;
  });
});
