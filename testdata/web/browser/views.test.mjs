// Every view, in light and dark, at 1280 and 360 px: axe-core finds nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Watch, openBrowser } from '../rig/browser.mjs';
import { household } from '../rig/data.mjs';
import { nsecOf, openAgent, openMemory, paste, quiet } from '../rig/flow.mjs';
import { startRelay } from '../rig/relay.mjs';
import { inspect, picture, violations } from '../rig/views.mjs';

test('every view is clean', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const { owner, agent } = await household(relay, { contracts: true });
  const page = (await openBrowser(t)).pages()[0];
  const watch = new Watch(page);
  const found = [];
  const view = async (name, at) => {
    await at.first().waitFor();
    found.push(...await inspect(page, name));
  };
  const main = name => page.locator(`main[data-view=${name}]`);

  await page.goto(`${relay.http}/app/`);
  await view('start', main('start'));
  await page.click('[data-way=bunker]');
  await view('bunker', main('bunker'));
  await page.getByRole('button', { name: 'Back' }).click();
  await page.click('[data-way=key]');
  await view('relays-to-ask', main('relays'));
  await page.getByRole('button', { name: 'Use these and no others' }).click();
  await view('key', main('key'));
  await paste(page, 'nothing that is a key');
  await view('key-refused', page.getByRole('alert'));
  await paste(page, await nsecOf(owner));
  await view('agents', page.locator(`[data-agent="${agent.hex}"]`));
  await page.getByText('Others that name you').first().click();
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await view('agents-approve', page.getByRole('button', { name: 'Approve it' }));

  await openAgent(page, agent);
  await view('memories', page.locator('.row', { hasText: 'people/ana' }));
  await page.getByRole('button', { name: 'As a tree' }).click();
  await page.locator('.tree summary').first().click();
  await view('tree', page.locator('.tree .row'));
  await page.getByRole('button', { name: 'As a tree' }).click();
  await openMemory(page, 'projects/atlas');
  await view('memory', page.locator('[data-memory]'));
  await picture(page, 'page-memory', 'light', page.locator('[data-memory]'));
  await openMemory(page, 'people/ana');
  await page.getByRole('button', { name: 'Show versions' }).click();
  await page.getByRole('button', { name: 'Show changes' }).click();
  await view('versions', page.locator('.diff-add'));
  await picture(page, 'page-versions', 'dark', page.locator('.diff-add').first());
  await page.getByRole('button', { name: 'Propose an edit' }).click();
  await view('propose', main('propose-edit'));
  await page.getByRole('textbox', { name: 'Text' }).fill('Ana prefers to be answered in Portuguese.');
  await page.getByRole('button', { name: 'Look over' }).click();
  await view('propose-review', page.getByRole('button', { name: 'Send the proposal' }));
  await page.getByRole('button', { name: 'Send the proposal' }).click();
  await page.getByRole('button', { name: 'See your proposals' }).click();
  await view('proposals', main('proposals').locator('.card, article, li'));
  await page.locator('[data-part=chain]').click();
  await page.getByRole('button', { name: 'Check the chain' }).click();
  await view('chain', page.getByText(/Whole to n \d/));
  await page.locator('[data-part=relays]').click();
  await view('relays-of-agent', page.locator('td'));
  await page.locator('[data-part=export]').click();
  await view('export', main('export'));
  await page.locator('[data-nav=contracts]').click();
  await view('contracts', page.getByRole('button', { name: 'A summary of the filings' }));
  await page.getByRole('button', { name: 'A summary of the filings' }).click();
  await view('contract', page.getByText('Half of the figures have no source'));
  await page.locator('[data-nav=relays]').click();
  await view('relays', main('relays'));
  await page.locator('[data-nav=settings]').click();
  await view('settings', main('settings'));
  await page.click('#logout');
  await view('ended', main('start'));

  assert.deepEqual(found, []);
  quiet(watch, [relay.http, relay.url]);
  // The search finds what is wrong, so that finding nothing means something.
  await page.evaluate(() => {
    const bad = document.createElement('button');
    document.querySelector('main')?.append(bad);
  });
  assert.match((await violations(page, null)).join('\n'), /button-name/);
});

test('the keyboard goes everywhere', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const { owner, agent } = await household(relay);
  const page = (await openBrowser(t)).pages()[0];
  const focused = () => page.evaluate(() => document.activeElement?.outerHTML.slice(0, 300) ?? '');
  const tabTo = async (pattern, most = 40) => {
    for (let i = 0; i < most; i++) {
      if (pattern.test(await focused())) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(`Tab never comes to ${pattern}: ${await focused()}`);
  };
  await page.goto(`${relay.http}/app/`);
  await tabTo(/data-way="key"/);
  await page.keyboard.press('Enter');
  await page.locator('main[data-view=relays]').waitFor();
  await tabTo(/Use these and no others/);
  await page.keyboard.press('Enter');
  await page.locator('#secret').waitFor();
  await page.keyboard.insertText(await nsecOf(owner));
  await page.locator(`[data-agent="${agent.hex}"]`).waitFor();
  await tabTo(new RegExp(`data-agent="${agent.hex}"`));
  await page.keyboard.press('Enter');
  await page.locator('main[data-view=memories] .row', { hasText: 'people/ana' }).waitFor();
  await tabTo(/class="row"/);
  const first = await focused();
  await page.keyboard.press('ArrowDown');
  assert.notEqual(await focused(), first);
  await page.keyboard.press('Enter');
  await page.locator('.pane-one [data-memory]').waitFor();
  assert.match(await focused(), /^<h2/); // the memory that was opened
  await tabTo(/id="logout"/, 120);
  await page.keyboard.press('Enter');
  await page.locator('main[data-view=start]').waitFor();
});
