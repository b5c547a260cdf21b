// What an owner does on the page, for all tests.
import { readFile } from 'node:fs/promises';
import assert from 'node:assert/strict';
import * as nip19 from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/nip19.js';

/** The nsec in a party's key file. */
export async function nsecOf(party) {
  const text = (await readFile(party.keyFile, 'utf8')).trim();
  return text.startsWith('nsec1') ? text : nip19.nsecEncode(Uint8Array.from(text.match(/../g), pair => parseInt(pair, 16)));
}

/** The secret key in hex. */
export const hexOf = async party => Buffer.from(nip19.decode(await nsecOf(party)).data).toString('hex');

/** Opens the page and comes as far as the confirmed relays. */
export async function begin(page, url, way, relays = []) {
  await page.goto(url);
  await page.click(`[data-way=${way}]`);
  if (way === 'bunker') return;
  await confirm(page, relays);
}

/** Names relays beside the page's own, and takes them. */
export async function confirm(page, relays = []) {
  await page.getByRole('button', { name: 'Use these and no others' }).waitFor();
  for (const url of relays) {
    await page.fill('#other', url);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
  }
  await page.getByRole('button', { name: 'Use these and no others' }).click();
}

/** Puts a secret in as a paste does. */
export async function paste(page, secret) {
  await page.locator('#secret').focus();
  await page.keyboard.insertText(secret);
}

/** Signs in with a pasted nsec. */
export async function signIn(page, url, party, relays = []) {
  await begin(page, url, 'key', relays);
  await paste(page, await nsecOf(party));
  await page.locator('main[data-view=agents]').waitFor();
}

/** Opens an agent, and waits until all of its memory is there. */
export async function openAgent(page, agent) {
  await page.locator(`[data-agent="${agent.hex}"]`).first().click();
  await page.locator('main[data-view=memories] .known[data-state=exact]').first().waitFor();
}

/** Opens the memory whose row says this. */
export async function openMemory(page, text) {
  await page.locator('.row', { hasText: text }).first().click();
  await page.locator('.pane-one .place .slug', { hasText: text }).waitFor();
  await page.locator('[data-memory]').first().waitFor();
}

/** Waits until there are n of these: lists are drawn in parts. */
export async function exactly(locator, n) {
  await locator.nth(n - 1).waitFor();
  await locator.nth(n).waitFor({ state: 'detached' });
}

/** Nothing may have happened that nobody asked for. */
export function quiet(watch, origins) {
  assert.deepEqual(watch.dialogs, []);
  assert.deepEqual(watch.policy, []);
  assert.deepEqual(watch.errors, []);
  assert.deepEqual(watch.origins(), [...origins].sort());
}
