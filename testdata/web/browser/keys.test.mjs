// The three ways to a key, and what becomes of a pasted one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Watch, holdSeconds, openBrowser, shot } from '../rig/browser.mjs';
import { startBunker } from '../rig/bunker.mjs';
import { household, planted } from '../rig/data.mjs';
import { extensionOf, withExtension } from '../rig/extension.mjs';
import { begin, confirm, hexOf, nsecOf, openAgent, openMemory, paste, quiet, signIn } from '../rig/flow.mjs';
import { heapHas } from '../rig/heap.mjs';
import { startRelay } from '../rig/relay.mjs';
import * as nip49 from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/nip49.js';

test('an extension (NIP-07)', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const { owner, agent } = await household(relay);
  const context = await openBrowser(t, { extension: await extensionOf(t, owner) });
  const page = await withExtension(context, `${relay.http}/app/`);
  const watch = new Watch(page);
  await begin(page, `${relay.http}/app/`, 'extension');
  await page.locator('main[data-view=agents]').waitFor();
  await openAgent(page, agent);
  await openMemory(page, 'people/ana');
  assert.match(await page.locator('main').innerText(), /address not checked by this signer|not checked by this signer/i);
  await page.locator('[data-part=chain]').click();
  await page.getByText('Not checked').waitFor();
  quiet(watch, [relay.http, relay.url]);
});

test('an extension that signs with another key ends the visit', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const { owner, second } = await household(relay);
  const context = await openBrowser(t, { extension: await extensionOf(t, owner, { other: second }) });
  const page = await withExtension(context, `${relay.http}/app/`);
  await begin(page, `${relay.http}/app/`, 'extension');
  await page.locator('main[data-view=agents]').waitFor();
  await page.locator('[data-nav=contracts]').click(); // asks for a signature of its own
  await page.locator('main[data-view=start]').waitFor();
  await page.getByText('a signature came from another key').waitFor();
});

test('a page without an extension says so', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const page = (await openBrowser(t)).pages()[0];
  await begin(page, `${relay.http}/app/`, 'extension');
  await page.getByRole('alert').waitFor();
});

test('a bunker (NIP-46) over a second relay', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t), other = await startRelay(t);
  const { owner, agent } = await household(relay);
  const wants = 'https://bunker.example/\u202eallow';
  const { link, asked } = await startBunker(t, other.url, await hexOf(owner), { wants });
  const page = (await openBrowser(t)).pages()[0];
  const watch = new Watch(page);
  await begin(page, `${relay.http}/app/`, 'bunker');
  await paste(page, link);
  await confirm(page);
  await page.locator('main[data-view=agents]').waitFor();
  await openAgent(page, agent);
  await openMemory(page, 'people/ana');
  assert.ok(asked.includes('nip44_decrypt') && asked.includes('sign_event'), asked.join());
  // The bunker asked for something while memory was read: it is told, as text.
  await page.getByRole('alert').getByText('https://bunker.example/⟨U+202E⟩allow').waitFor();
  assert.equal(await page.locator('a').count(), 0);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.locator('#above').waitFor({ state: 'detached' });
  quiet(watch, [relay.http, relay.url, other.url]);
});

test('an encrypted key (NIP-49), and a wrong password', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const { owner, agent } = await household(relay);
  const secret = Uint8Array.from((await hexOf(owner)).match(/../g), pair => parseInt(pair, 16));
  const page = (await openBrowser(t)).pages()[0];
  await begin(page, `${relay.http}/app/`, 'key');
  await paste(page, nip49.encrypt(secret, 'open sesame', 8));
  await page.fill('#password', 'wrong');
  await page.getByRole('button', { name: 'Decrypt the key' }).click();
  await page.getByRole('alert').waitFor();
  await page.fill('#password', 'open sesame');
  await page.getByRole('button', { name: 'Decrypt the key' }).click();
  await page.locator('main[data-view=agents]').waitFor();
  await openAgent(page, agent);
});

test('what is no key, and one that is too hard to open, is refused', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const page = (await openBrowser(t)).pages()[0];
  await begin(page, `${relay.http}/app/`, 'key');
  await paste(page, 'nsec1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq');
  await page.getByRole('alert').waitFor();
  const bytes = nip49.encrypt(new Uint8Array(32).fill(7), 'x', 4);
  const { bech32 } = await import('../../../internal/web/src/node_modules/@scure/base/index.js');
  const { words } = bech32.decode(bytes, 1000);
  const raw = bech32.fromWords(words);
  raw[1] = 20; // log_n
  await paste(page, bech32.encode('ncryptsec', bech32.toWords(raw), 1000));
  await page.getByText('engramctl').first().waitFor();
  assert.equal(await page.locator('#password').count(), 0);
});

for (const how of ['logout', 'idle', 'pagehide']) {
  test(`after ${how} no live object holds the key or a memory`, { timeout: 600_000 }, async t => {
    const relay = await startRelay(t);
    const { owner, agent } = await household(relay);
    const context = await openBrowser(t);
    const page = context.pages()[0];
    if (how === 'idle') {
      await page.clock.install();
      await holdSeconds(page); // its timers are others now
    }
    await signIn(page, `${relay.http}/app/`, owner);
    const nsec = await nsecOf(owner), hex = await hexOf(owner);
    await openAgent(page, agent);
    await openMemory(page, 'people/ana');
    const before = await heapHas(page, [planted], hex);
    assert.deepEqual(before.page.texts, [planted], 'the search does not find the text while it is shown');
    assert.equal(before.page.key, false, 'the page itself holds the key');
    assert.equal(before.worker?.key, true, 'the search does not find the key while somebody is signed in');
    const [worker] = page.workers(), ended = new Promise(done => worker.on('close', done));
    if (how === 'logout') await page.click('#logout');
    if (how === 'idle') await page.clock.fastForward('16:00');
    if (how === 'pagehide') {
      await page.goto('about:blank');
      await page.goBack();
    }
    await page.locator('main[data-view=start]').waitFor();
    await ended;
    assert.equal(page.workers().length, 0);
    const after = await heapHas(page, [planted, nsec, hex], hex);
    assert.deepEqual(after.page.texts, []);
    assert.equal(after.page.key, false);
    assert.equal(after.worker, null);
    assert.doesNotMatch(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, document.title, location.href,
      [...document.querySelectorAll('input')].map(i => i.value)])), new RegExp(`${planted}|nsec1|${hex}`));
    await shot(page, `after-${how}`);
  });
}
