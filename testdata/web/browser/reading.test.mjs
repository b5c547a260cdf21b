// What stands beside a memory's text, what changed since the last visit, and the
// proposals that are no edits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser, shot } from '../rig/browser.mjs';
import { household } from '../rig/data.mjs';
import { openAgent, openMemory, signIn } from '../rig/flow.mjs';
import { fill } from '../rig/hostile.mjs';
import { newParty, startRelay } from '../rig/relay.mjs';

const body = (slug, value) => [slug, JSON.stringify(slug === 'core' ? { slug, profile: value } : { slug, value })];

test('what changed since the last visit, by consent and under a hash', { timeout: 90_000 }, async t => {
  const relay = await startRelay(t);
  const { owner, agent } = await household(relay);
  await fill(relay, owner, agent, [body('mem/sys/notes', 'kept by a program')]);
  const page = (await openBrowser(t)).pages()[0];
  const app = `${relay.http}/app/`;
  const row = text => page.locator('.row', { hasText: text });
  await signIn(page, app, owner);
  assert.equal(await page.evaluate(() => localStorage.length), 0);
  await page.locator('[data-nav=settings]').click();
  await page.getByRole('checkbox', { name: 'Remember when I was here' }).check();
  await page.locator('[data-nav=agents]').click();
  await openAgent(page, agent);
  await row('people/ana').waitFor();
  assert.equal(await row('sys/notes').count(), 0);
  await page.getByRole('checkbox', { name: 'Show mem/sys/' }).check();
  await row('sys/notes').waitFor();

  // Written while this visit reads on, and not read by it.
  await agent.mem(owner, 'mem', 'set', 'people/late', 'Came meanwhile.');
  await page.locator('[data-part=relays]').click();
  await page.locator('td').first().waitFor();
  await page.locator('[data-part=memories]').click();
  await row('people/ana').waitFor();
  const kept = await page.evaluate(() => JSON.stringify(localStorage));
  for (const text of [owner.hex, owner.npub, agent.hex, agent.npub, 'people', 'ana']) assert.ok(!kept.includes(text), kept);
  assert.match(kept, /[0-9a-f]{32}\\":\d{10}/);
  await page.click('#logout');

  await agent.mem(owner, 'mem', 'set', 'people/bo', 'Came after.');
  await signIn(page, app, owner);
  await openAgent(page, agent);
  await page.locator('.since', { hasText: /2 changed since your last visit/ }).waitFor();
  await page.getByRole('button', { name: 'Show only these' }).click();
  await row('people/ana').waitFor({ state: 'detached' });
  assert.deepEqual((await page.locator('.row .slug').allInnerTexts()).sort(), ['people/bo', 'people/late']);
  await shot(page, 'since');
  await page.locator('[data-nav=settings]').click();
  await page.getByRole('button', { name: 'Forget all of it' }).click();
  assert.equal(await page.evaluate(() => localStorage.length), 0);
  await page.locator('[data-nav=relays]').click();
  await page.getByRole('button', { name: 'Sign out and name other relays' }).click();
  await page.getByText('The page was loaded anew.').waitFor();
  assert.equal(await page.evaluate(() => document.querySelectorAll('meta[http-equiv]').length), 0);
});

test('fields, links both ways, marks and the raw event', { timeout: 60_000 }, async t => {
  const relay = await startRelay(t);
  const owner = await newParty(relay, 'owner'), agent = await newParty(relay, 'agent');
  await fill(relay, owner, agent, [
    body('core', 'I am Sami. See [[mem/a]].'), body('mem/b', 'Linked to.'),
    body('mem/a', '---\ntrust: told\nsource: a letter\nwhere: {town: Lisbon, year: 2024}\ntags: [one]\n---\nSee [[mem/b]].'),
  ]);
  await owner.ctl(['agents', 'allow', agent.npub]);
  const page = (await openBrowser(t)).pages()[0];
  await signIn(page, `${relay.http}/app/`, owner);
  await openAgent(page, agent);
  const links = name => page.locator('.two > div', { hasText: name });
  await page.locator('.row', { has: page.locator('.slug', { hasText: /^core$/ }) }).click();
  await links('This links to').getByRole('button', { name: 'a', exact: true }).click();
  await page.locator('.frame-head', { hasText: 'Told' }).waitFor();
  await links('Linked from').getByRole('button', { name: 'core', exact: true }).waitFor();
  await links('This links to').getByRole('button', { name: 'b', exact: true }).waitFor();
  const shown = await page.locator('.memory').innerText();
  for (const text of ['a letter', 'town: Lisbon, year: 2024', 'by this agent', 'belongs to this slug', 'valid UTF-8', relay.url]) assert.ok(shown.includes(text), `${text}: ${shown}`);
  await page.locator('.raw summary').click();
  const raw = JSON.parse(await page.locator('.raw pre').innerText());
  assert.deepEqual([raw.pubkey, raw.kind, raw.id.length], [agent.hex, 30174, 64]);
  await shot(page, 'fields');
});

