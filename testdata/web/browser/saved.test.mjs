// The page in one file, opened from disk, and by `engramctl web`.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Watch, openBrowser, shot } from '../rig/browser.mjs';
import { household, planted } from '../rig/data.mjs';
import { begin, nsecOf, openAgent, openMemory, paste, quiet, signIn } from '../rig/flow.mjs';
import { bin, environment, startRelay } from '../rig/relay.mjs';

test('the page from disk', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t, { args: ['--public-url', 'ws://localhost:1'] }); // without a name it takes no page from disk
  const { owner, agent } = await household(relay, { contracts: true });
  const file = join(relay.dir, 'page.html');
  const said = await owner.ctl(['web', '--save', file, '--sha256']);
  assert.equal(said.slice(0, 64), createHash('sha256').update(await readFile(file)).digest('hex'));

  const page = (await openBrowser(t)).pages()[0];
  const watch = new Watch(page);
  await begin(page, pathToFileURL(file).href, 'key', [relay.url]); // no relay is named beside it
  await paste(page, await nsecOf(owner));
  await page.locator('main[data-view=agents]').waitFor();
  await openAgent(page, agent);
  await openMemory(page, 'people/ana');
  assert.ok((await page.locator('[data-memory]').innerText()).includes(planted));
  await page.getByRole('button', { name: 'Show versions' }).click();
  await page.locator('.version-list li').nth(1).waitFor();
  await shot(page, 'saved');
  await page.locator('[data-nav=contracts]').click();
  await page.getByRole('button', { name: 'A summary of the filings' }).click();
  await page.getByText('Half of the figures have no source').waitFor();
  await page.locator('[data-nav=settings]').click();
  await page.getByText('Nothing: this page was opened from disk.').waitFor();
  assert.equal(await page.evaluate(() => localStorage.length + sessionStorage.length + document.cookie.length), 0);
  quiet(watch, [relay.http, relay.url]);

  // Its policy holds from disk too, and what it keeps out is seen.
  await page.evaluate(() => fetch('https://elsewhere.invalid/planted').catch(() => {}));
  await watch.until(() => watch.policy.some(text => /connect-src/.test(text)));
  await page.click('#logout');
  await page.locator('main[data-view=start]').waitFor();
});

test('a relay of this machine answers no page from disk', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const { owner } = await household(relay);
  const file = join(relay.dir, 'page.html');
  await owner.ctl(['web', '--save', file]);
  const page = (await openBrowser(t)).pages()[0];
  await page.goto(pathToFileURL(file).href);
  await page.click('[data-way=key]');
  await page.fill('#other', relay.url);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('use engramctl web').waitFor();
  await page.getByRole('button', { name: 'Use these and no others' }).click();
  await paste(page, await nsecOf(owner));
  await page.locator('main[data-view=agents] [data-state=failed]').first().waitFor();
});

test('the page by engramctl web, on a loopback port', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const { owner, agent } = await household(relay);
  const child = spawn(join(bin, 'engramctl'), ['web', '--no-open', '--listen', '127.0.0.1:0'],
    { cwd: relay.dir, env: environment(relay.dir, { ENGRAM_RELAYS: relay.url }), stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  let url = '';
  for await (const line of createInterface(child.stdout)) {
    url = line.trim();
    break;
  }
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/app\/$/);
  const page = (await openBrowser(t)).pages()[0];
  const watch = new Watch(page);
  await signIn(page, url, owner); // relay.json names the relay
  await openAgent(page, agent);
  await openMemory(page, 'people/ana');
  await page.getByRole('button', { name: 'Show versions' }).click();
  await page.locator('.version-list li').nth(1).waitFor();
  quiet(watch, [new URL(url).origin, relay.http, relay.url]);
});
