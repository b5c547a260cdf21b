// The page from somebody else's server: what it says before it takes a key, and which
// addresses it takes. What is served is what engramd serves, under another name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser, shot } from '../rig/browser.mjs';
import { begin } from '../rig/flow.mjs';
import { startRelay } from '../rig/relay.mjs';

async function servedAs(t, origin) {
  const relay = await startRelay(t);
  const context = await openBrowser(t);
  await context.route(`${origin}/app/**`, async route => {
    const answer = await fetch(relay.http + new URL(route.request().url()).pathname);
    await route.fulfill({ status: answer.status, headers: Object.fromEntries(answer.headers), body: Buffer.from(await answer.arrayBuffer()) });
  });
  const page = context.pages()[0];
  await page.goto(`${origin}/app/`);
  return { page, relay };
}

test('over plain http no key is taken', { timeout: 600_000 }, async t => {
  const { page } = await servedAs(t, 'http://owner.example');
  await page.locator('[data-way=extension]').waitFor();
  assert.equal(await page.locator('[data-way=key]').count(), 0);
  await page.getByText('Not over plain http').waitFor();
  await shot(page, 'origin-plain');
});

test('from another\'s server a key is taken once the warning is confirmed', { timeout: 600_000 }, async t => {
  const { page, relay } = await servedAs(t, 'https://owner.example');
  await page.click('[data-way=key]');
  await page.locator('main[data-view=warning]').waitFor();
  assert.match(await page.locator('main').innerText(), /Whoever serves this page can read a key that is pasted into it/);
  await shot(page, 'origin-warning');
  const go = page.getByRole('button', { name: 'Continue' });
  assert.deepEqual([await page.locator('#secret').count(), await go.isDisabled()], [0, true]);
  await page.getByRole('checkbox', { name: 'I trust owner.example' }).check();
  await go.click();

  const told = page.locator('main [aria-live]');
  const name = async url => {
    await page.fill('#other', url);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    return told.innerText();
  };
  assert.match(await name('ws://relay.example'), /This address has no TLS: open the saved page/);
  assert.match(await name('wss://*.example'), /no address of a relay/);
  await page.getByRole('checkbox', { name: relay.url }).uncheck();
  assert.equal(await name('wss://relay.example/nostr'), '');
  await page.getByRole('button', { name: 'Use these and no others' }).click();
  await page.locator('#secret').waitFor();
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('meta[http-equiv]')].map(meta => meta.content)), ['connect-src wss://relay.example https://relay.example']);
});

test('a key is pasted into no field but its own', { timeout: 600_000 }, async t => {
  const relay = await startRelay(t);
  const page = (await openBrowser(t)).pages()[0];
  await page.goto(`${relay.http}/app/`);
  await page.click('[data-way=key]');
  const taken = (at, text) => page.locator(at).evaluate((field, said) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', said);
    return field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, text);
  assert.equal(await taken('#other', 'wss://relay.example'), true);
  assert.equal(await taken('#other', ` nsec1${'q'.repeat(58)}`), false);
  await page.getByRole('alert').getByText('looks like a secret key').waitFor();
  assert.doesNotMatch(await page.content(), /nsec1q/);
  await begin(page, `${relay.http}/app/`, 'key');
  assert.equal(await taken('#secret', 'nsec1qqqq'), false); // this one is handed on
  await page.getByText('This is no nsec and no ncryptsec.').first().waitFor();
});
