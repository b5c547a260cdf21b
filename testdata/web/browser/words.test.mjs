// Loading, cut, failed, unreadable: each made by a relay that behaves so.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Watch, openBrowser, passSeconds, shot } from '../rig/browser.mjs';
import { fakeRelay, nothing } from '../rig/fake.mjs';
import { begin, exactly, hexOf, nsecOf, paste, signIn } from '../rig/flow.mjs';
import { BROKEN, fill, hostile, plain } from '../rig/hostile.mjs';
import { newParty, startRelay } from '../rig/relay.mjs';
import { finalizeEvent, getEventHash } from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/pure.js';

const ENGRAM = 30174;

/** An owner with an agent that has seven memories, at a relay that serves the page. */
async function scene(t, bodies = plain(7), options = {}) {
  const relay = await startRelay(t, options);
  const owner = await newParty(relay, 'owner'), agent = await newParty(relay, 'agent');
  await fill(relay, owner, agent, bodies, options);
  await owner.ctl(['agents', 'allow', agent.npub]);
  const page = (await openBrowser(t)).pages()[0];
  return { relay, owner, agent, page, app: `${relay.http}/app/`, watch: new Watch(page) };
}

/** Opens the agent, and waits for the word that its memories are headed by. */
async function headed(page, agent, state) {
  await page.locator(`[data-agent="${agent.hex}"]`).first().click();
  const known = page.locator(`main[data-view=memories] .pane-list .known[data-state=${state}]`);
  await known.waitFor();
  return known;
}

/** Why it is not certain, by relays. */
async function reasons(known) {
  await known.locator('summary').click();
  return known.innerText();
}

test('a relay that hangs: loading, and after ten seconds failed', { timeout: 600_000 }, async t => {
  const { page, owner, agent, app, relay, watch } = await scene(t);
  let hangs = () => {};
  const hung = new Promise(done => { hangs = done; });
  const hanging = await fakeRelay(t, { answer: (filter, sub, kind) => {
    if (!filter.authors?.includes(agent.hex) || kind !== 'REQ' || filter.limit === 1) return nothing(sub, kind);
    hangs();
    return 'hang';
  } });
  await signIn(page, app, owner, [hanging.url]);
  const loading = await headed(page, agent, 'loading');
  await page.locator('.row').nth(6).waitFor(); // what came is shown meanwhile
  await loading.filter({ hasText: /at least 7 (addresses|memories) \(still loading\)/ }).waitFor();
  await shot(page, 'word-loading');
  const failed = page.locator('.pane-list .known[data-state=failed]');
  await hung;
  assert.deepEqual(await passSeconds(page, 1), [10_000]);
  await failed.waitFor();
  const text = await reasons(failed);
  assert.match(text, /at least 7 memories \(a relay failed\)/);
  assert.ok(text.includes(`${hanging.url}: silent for 10 seconds`), text);
  assert.ok(!text.includes(relay.url), text);
  await shot(page, 'word-failed');
  assert.deepEqual(watch.policy, []);
});

test('a relay that dies: failed, never none, and no list is written', { timeout: 600_000 }, async t => {
  const { page, owner, agent, app, relay } = await scene(t);
  const other = await newParty(relay, 'other');
  await fill(relay, owner, other, plain(1));
  const dying = await fakeRelay(t, { answer: () => 'die' });
  await signIn(page, app, owner, [dying.url]);
  await page.locator('main[data-view=agents] .known[data-state=failed]').first().waitFor();
  await page.locator('.card', { hasText: 'at least 7 addresses' }).waitFor();
  await page.getByText('Others that name you').first().click();
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByRole('button', { name: 'Approve it' }).click();
  const told = page.locator('.note-bad').filter({ hasText: 'Nothing was sent' });
  await told.waitFor();
  assert.ok((await told.innerText()).includes(dying.url));
  assert.ok(!(await told.innerText()).includes(relay.url));
  assert.ok(!dying.asked.includes('EVENT'));
  assert.doesNotMatch(await owner.ctl(['agents', 'ls']), new RegExp(`${other.npub} {2}approved`));
  const known = await headed(page, agent, 'failed');
  assert.match(await reasons(known), /at least 7 memories[^]*closed the connection/);
});

test('only a relay that is not there: not known, and no 0', { timeout: 600_000 }, async t => {
  const { page, owner, app, relay } = await scene(t);
  await page.goto(app);
  await page.click('[data-way=key]');
  await page.fill('#other', 'ws://127.0.0.1:9'); // nobody listens at discard
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('checkbox', { name: relay.url }).uncheck();
  await page.getByRole('button', { name: 'Use these and no others' }).click();
  await paste(page, await nsecOf(owner));
  const known = page.locator('main[data-view=agents] .known[data-state=failed]').first();
  await known.waitFor();
  assert.match(await known.innerText(), /not known/);
  assert.doesNotMatch(await page.locator('main').innerText(), /\b0\b|not approved any/);
});

test('a relay that counts and shows nothing: the newest is not known', { timeout: 600_000 }, async t => {
  const { page, owner, agent, app, relay } = await scene(t);
  const list = finalizeEvent({ kind: 30078, created_at: 1_700_000_000, content: '', tags: [['d', 'engramd/agents'], ['p', agent.hex]] }, Buffer.from(await hexOf(owner), 'hex'));
  const counting = await fakeRelay(t, { answer: (filter, sub, kind) => (kind === 'COUNT' ? [['COUNT', sub, { count: 3 }]]
    : filter.kinds?.includes(30078) ? [['EVENT', sub, list], ['EOSE', sub, ['finish']]] : [['CLOSED', sub, 'error: not today']]) });
  await page.goto(app);
  await page.click('[data-way=key]');
  await page.fill('#other', counting.url);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('checkbox', { name: relay.url }).uncheck();
  await page.getByRole('button', { name: 'Use these and no others' }).click();
  await paste(page, await nsecOf(owner));
  const card = page.locator('.card.agent', { has: page.locator(`[data-agent="${agent.hex}"]`) });
  await card.filter({ hasText: '3 addresses · newest not known' }).waitFor();
});

test('a relay that caps: cut', { timeout: 600_000 }, async t => {
  // engramd itself, asked for 500, gives 5 a page; and all are of one second, so that no
  // `until` comes past them.
  const { page, owner, agent, app, relay } = await scene(t, plain(12), { args: ['--limits-max-limit', '5'], oneSecond: true });
  await signIn(page, app, owner);
  const known = await headed(page, agent, 'cut');
  const text = await reasons(known);
  assert.match(text, /at least 5 memories \(cut/);
  assert.ok(text.includes(`${relay.url}: has more than it gave`), text);
  await shot(page, 'word-cut');
});

test('a relay that sends what cannot be read, and an agent that wrote it: unreadable', { timeout: 600_000 }, async t => {
  const { page, owner, agent, app, watch } = await scene(t, hostile(BROKEN + 2).slice(0, BROKEN).concat(plain(4)));
  const junk = { id: 'x', kind: ENGRAM, pubkey: agent.hex, created_at: 1e99, tags: 'none', content: 7, sig: '' };
  const babbling = await fakeRelay(t, { answer: (filter, sub, kind) => (filter.authors?.includes(agent.hex) && kind === 'REQ' && filter.limit !== 1
    ? ['{not json', '[]', '7', ['EVENT', sub, junk], ['EVENT', sub, null], ['EOSE', sub, ['finish']]] : nothing(sub, kind)) });
  await signIn(page, app, owner, [babbling.url]);
  const known = await headed(page, agent, 'unreadable');
  await page.locator('.row', { hasText: 'Unreadable' }).nth(BROKEN - 1).waitFor();
  const text = await reasons(known);
  assert.match(text, new RegExp(`at least 4 memories \\(${BROKEN} unreadable\\)`));
  assert.ok(text.includes(`${babbling.url}: sent something unreadable`), text);
  await page.locator('.row', { hasText: 'Unreadable' }).first().click();
  await page.locator('.pane-one .note-warn').first().waitFor();
  await shot(page, 'word-unreadable');
  assert.deepEqual(watch.errors, []);
});

test('a relay that makes up events: what is not signed is not shown as a memory', { timeout: 600_000 }, async t => {
  const { page, owner, agent, app } = await scene(t);
  const forged = (filter, sub, kind) => {
    if (!filter.authors?.includes(agent.hex) || kind !== 'REQ') return nothing(sub, kind);
    const event = { pubkey: agent.hex, created_at: 1_700_000_000, kind: ENGRAM, tags: [['d', 'b'.repeat(64)], ['p', owner.hex]], content: Buffer.from([2, ...Array(98).fill(1)]).toString('base64'), sig: 'c'.repeat(128) };
    return [['EVENT', sub, { ...event, id: getEventHash(event) }], ['EOSE', sub, ['finish']]];
  };
  const forging = await fakeRelay(t, { answer: forged });
  await signIn(page, app, owner, [forging.url]);
  const known = await headed(page, agent, 'unreadable');
  assert.match(await known.innerText(), /at least 7 memories \(1 unreadable\)/);
  await exactly(page.locator('.row'), 8);
});
