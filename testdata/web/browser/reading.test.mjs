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

test('what changed since the last visit, by consent and under a hash', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const { owner, agent } = await household(relay);
  const written = Date.now(); // but what replaced another of the same second, by one second
  await fill(relay, owner, agent, [body('mem/sys/notes', 'kept by a program')]);
  const page = (await openBrowser(t)).pages()[0];
  const app = `${relay.http}/app/`;
  const row = text => page.locator('.row', { hasText: text });
  await signIn(page, app, owner);
  assert.equal(await page.evaluate(() => localStorage.length), 0);
  await page.locator('[data-nav=settings]').click();
  await page.getByRole('checkbox', { name: 'Remember when I was here' }).check();
  await page.locator('[data-nav=agents]').click();
  // A visit is told to the second: what is of the second in which it begins is new to the next.
  while (Math.floor(Date.now() / 1000) <= Math.floor(written / 1000) + 1) await new Promise(done => setTimeout(done, 50));
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

test('fields, links both ways, marks and the raw event', { timeout: 600_000 }, async t => {
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

test('a change is shown wherever in a text it stands, and line ends stay', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const { owner, agent } = await household(relay);
  const long = '7\n'.repeat(6000);
  await agent.mem(owner, 'mem', 'set', 'long', `${long}the end`);
  await agent.mem(owner, 'mem', 'set', 'long', `${long}another end`);
  await agent.mem(owner, 'mem', 'set', 'letter', 'one\r\ntwo\r\nthree\r\n');
  const page = (await openBrowser(t)).pages()[0];
  await signIn(page, `${relay.http}/app/`, owner);
  await openAgent(page, agent);
  await openMemory(page, 'long');
  await page.getByRole('button', { name: 'Show versions' }).click();
  await page.getByRole('button', { name: 'Show changes' }).click();
  await page.locator('.diff-add', { hasText: 'another end' }).waitFor();
  await page.locator('.diff-del', { hasText: 'the end' }).waitFor();

  await page.locator('.row', { hasText: 'letter' }).click();
  await page.locator('.place .slug', { hasText: 'letter' }).waitFor();
  await page.getByRole('button', { name: 'Propose an edit' }).click();
  await page.getByRole('button', { name: 'Look over' }).click();
  await page.getByText('The text is as it was.').waitFor();
  await page.getByRole('textbox', { name: 'Text' }).fill('one\n2\nthree\n');
  await page.getByRole('button', { name: 'Look over' }).click();
  await page.locator('.diff-add').first().waitFor();
  assert.deepEqual([await page.locator('.diff-add').count(), await page.locator('.diff-del').count()], [1, 1]);
});

test('a version is restored byte for byte, a memory archived, another deleted', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const { owner, agent } = await household(relay);
  const page = (await openBrowser(t)).pages()[0];
  const text = async slug => (await agent.mem(owner, 'mem', 'get', slug));
  const send = async () => {
    await page.getByRole('button', { name: 'Look over' }).click();
    await page.getByRole('button', { name: 'Send the proposal' }).click();
    await page.getByText('1 of 1 relay took it').waitFor();
    await agent.mem(owner, 'proposals', 'accept', /^[0-9a-f]{16}(?=.* open)/m.exec(await agent.mem(owner, 'proposals', 'ls'))[0]);
    await page.getByRole('button', { name: 'Back to the list' }).click();
  };
  await signIn(page, `${relay.http}/app/`, owner);
  await openAgent(page, agent);
  await openMemory(page, 'people/ana');
  await page.getByRole('button', { name: 'Show versions' }).click();
  await page.locator('.version-list li').nth(1).waitFor();
  const asOf = async (at, told) => {
    await page.fill('#as-of', at);
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.locator('.versions').getByText(told).first().waitFor();
  };
  await asOf('2001-01-01T00:00', 'No version that is kept is that old.');
  await asOf('2999-01-01T00:00', /in Spanish/);
  await page.locator('.version-list button').nth(1).click();
  await page.getByRole('button', { name: 'Propose to restore this version' }).click();
  await send();
  assert.equal(await text('people/ana'), '---\ntags: [people, family]\n---\nAna prefers to be answered in English.');
  await openMemory(page, 'projects/atlas');
  await page.getByRole('button', { name: 'Propose to archive' }).click();
  await send();
  assert.match(await text('projects/atlas'), /^state: archived$/m);
  await openMemory(page, 'journal/2026-05-04');
  await page.getByRole('button', { name: 'Propose to delete' }).click();
  await send();
  await page.getByRole('button', { name: 'Read anew' }).click();
  await page.locator('.row', { hasText: 'journal' }).waitFor({ state: 'detached' });
  await page.locator('[data-part=proposals]').click();
  await page.locator('.answer-accepted').nth(2).waitFor();
});
