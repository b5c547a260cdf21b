// Two memories that claim one slug, behind a signer that cannot tell which lies.
import { test } from 'node:test';
import { Watch, openBrowser, shot } from '../rig/browser.mjs';
import { extensionOf, withExtension } from '../rig/extension.mjs';
import { begin, quiet } from '../rig/flow.mjs';
import { harmless } from '../rig/harmless.mjs';
import { fill, hostile } from '../rig/hostile.mjs';
import { newParty, startRelay } from '../rig/relay.mjs';

test('slugs that collide, behind an extension', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const owner = await newParty(relay, 'owner'), agent = await newParty(relay, 'agent');
  await fill(relay, owner, agent, hostile(120));
  await owner.ctl(['agents', 'allow', agent.npub]);
  const page = await withExtension(await openBrowser(t, { extension: await extensionOf(t, owner, { most: 20 }) }), `${relay.http}/app/`);
  const watch = new Watch(page);
  await begin(page, `${relay.http}/app/`, 'extension');
  await page.locator(`[data-agent="${agent.hex}"]`).click();
  await page.getByText('20 of 120 decrypted').waitFor();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.fill('#search', 'conspicuously absent');
  await page.locator('.found', { hasText: /searched \d+ of 120 decrypted/ }).waitFor();
  await page.evaluate(() => window.nostr.letGo());
  await page.fill('#search', '');
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.locator('.progress').waitFor({ state: 'hidden' });
  await page.fill('#search', 'constructor claim');
  await page.locator('.row .state-bad', { hasText: 'conflict' }).first().waitFor();
  await page.locator('.row', { hasText: 'conflict' }).first().click();
  await page.locator('.pane-one .note-warn', { hasText: 'claims the same slug' }).waitFor();
  await page.getByText('address not checked by this signer').first().waitFor();
  await harmless(page);
  await shot(page, 'conflict');
  quiet(watch, [relay.http, relay.url]);
});
