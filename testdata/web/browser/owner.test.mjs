// An owner finds a wrong memory, compares its versions, proposes a correction, and sees
// it accepted; with a contract's dispute beside it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Watch, openBrowser, shot } from '../rig/browser.mjs';
import { household, planted } from '../rig/data.mjs';
import { exactly, openAgent, openMemory, quiet, signIn } from '../rig/flow.mjs';
import { startRelay } from '../rig/relay.mjs';

test('an owner corrects a memory, and reads a dispute', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const { owner, agent, second, contract } = await household(relay, { contracts: true });
  const context = await openBrowser(t);
  const page = context.pages()[0];
  const watch = new Watch(page);
  await signIn(page, `${relay.http}/app/`, owner);

  await t.test('agents: the approved one, and who else names the owner', async () => {
    await page.locator(`[data-agent="${agent.hex}"]`).first().waitFor();
    await shot(page, 'agents');
    assert.equal(await page.locator(`[data-agent="${second.hex}"]`).count(), 0);
    await page.getByText('Others that name you').first().click();
    await page.locator(`[data-agent="${second.hex}"]`).first().waitFor();
  });

  await t.test('memories, their search and one of them', async () => {
    await openAgent(page, agent);
    await page.locator('.row', { hasText: 'people/ana' }).waitFor();
    await exactly(page.locator('.row'), 4); // one was removed
    await page.fill('#search', 'ána spañ');
    await page.locator('.row', { hasText: 'projects/atlas' }).waitFor({ state: 'detached' });
    await exactly(page.locator('.row'), 1);
    await shot(page, 'memories');
    await page.fill('#search', '');
    await openMemory(page, 'people/ana');
    const frame = page.locator('[data-memory]').first();
    assert.match(await frame.innerText(), new RegExp(planted));
    assert.equal(await frame.locator('button').count(), 1);
    await shot(page, 'memory');
    await frame.locator('.slug-link').click();
    await page.locator('[data-memory]', { hasText: 'keeps its data in SQLite' }).waitFor();
    assert.equal(await page.locator('[data-memory] a').count(), 0);
    await shot(page, 'markdown');
    await page.goBack();
    await page.locator('[data-memory]', { hasText: planted }).waitFor();
  });

  await t.test('its versions, and what changed', async () => {
    await page.getByRole('button', { name: 'Show versions' }).click();
    await page.locator('.version-list li').nth(1).waitFor();
    await exactly(page.locator('.version-list li'), 2);
    await page.getByRole('button', { name: 'Show changes' }).click();
    await page.locator('.diff-add').first().waitFor();
    assert.match(await page.locator('.diff-del').first().innerText(), /English/);
    assert.match(await page.locator('.diff-add').first().innerText(), /Spanish/);
    await shot(page, 'versions');
  });

  await t.test('a correction is proposed, accepted, and seen', async () => {
    await page.getByRole('button', { name: 'Propose an edit' }).click();
    await page.getByRole('textbox', { name: 'Text' }).fill('---\ntags: [people, family]\n---\nAna prefers to be answered in Portuguese.');
    await page.getByRole('textbox', { name: /^Why/ }).fill('she said so');
    await page.getByRole('button', { name: 'Look over' }).click();
    await shot(page, 'propose');
    await page.getByRole('button', { name: 'Send the proposal' }).click();
    await page.getByText('1 of 1 relay took it').waitFor();
    const open = await agent.mem(owner, 'proposals', 'ls');
    const id = /^[0-9a-f]{16}/m.exec(open)[0];
    assert.match(open, /edit {2}mem\/people\/ana {2}open {2}she said so/);
    await agent.mem(owner, 'proposals', 'accept', id);
    assert.match(await agent.mem(owner, 'mem', 'get', 'people/ana'), /Portuguese/);
    await page.getByRole('button', { name: 'See your proposals' }).click();
    await page.locator('.answer-accepted').waitFor();
    await shot(page, 'proposals');
  });

  await t.test('the chain is whole, and the relay has all', async () => {
    await page.locator('[data-part=chain]').click();
    await page.getByRole('button', { name: 'Check the chain' }).click();
    await page.getByText(/Whole to n \d/).waitFor();
    await shot(page, 'chain');
    await page.locator('[data-part=relays]').click();
    await page.locator('td', { hasText: '0' }).first().waitFor();
    await shot(page, 'relays');
  });

  await t.test('the export has what is shown', async () => {
    await page.locator('[data-part=export]').click();
    await page.getByRole('checkbox', { name: 'I know where' }).check();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Make the file' }).click()]);
    const { default: fs } = await import('node:fs/promises');
    const bytes = await fs.readFile(await download.path());
    assert.equal(bytes.readUInt32LE(0), 0x04034b50);
    assert.ok(bytes.includes('people/ana.md') && bytes.includes('Portuguese'));
  });

  await t.test('the dispute, each signature checked', async () => {
    await page.locator('[data-nav=contracts]').click();
    await page.getByRole('button', { name: 'A summary of the filings' }).click();
    await page.getByText('Half of the figures have no source').waitFor();
    await shot(page, 'contract');
    assert.equal(await page.locator('.mark-bad').count(), 0);
    assert.ok(await page.locator('.mark-good').count() >= 7, await page.locator('main').innerText());
    assert.ok(contract.id);
  });

  await t.test('an agent is approved, and revoked', async () => {
    await page.locator('[data-nav=agents]').click();
    await page.getByText('Others that name you').first().click();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('button', { name: 'Approve it' }).click();
    await page.getByRole('button', { name: 'Revoke' }).nth(1).waitFor();
    assert.match(await owner.ctl(['agents', 'ls']), new RegExp(second.npub));
    await page.getByRole('button', { name: 'Revoke' }).nth(1).click();
    await page.getByRole('button', { name: 'Revoke it' }).click();
    await page.getByRole('button', { name: 'Revoke' }).nth(1).waitFor({ state: 'detached' });
    quiet(watch, [relay.http, relay.url]);
  });
});
