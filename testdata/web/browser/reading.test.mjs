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

