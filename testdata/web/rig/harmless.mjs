// What a memory must not do, whatever it says.
import assert from 'node:assert/strict';

/** What no text of a memory may make. */
const ACTIVE = ['img', 'script', 'a', 'iframe', 'form', 'input', 'svg', 'math', 'link', 'style', 'meta', 'base', 'object', 'embed', 'video', 'audio'].map(name => `[data-memory] ${name}`).join();
const RAW = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** The memory that is open does nothing, and shows what it would hide. */
export async function harmless(page) {
  assert.equal(await page.locator(ACTIVE).count(), 0);
  assert.doesNotMatch(await page.locator('main').innerText(), RAW);
  const at = await page.evaluate(() => [document.title, location.pathname + location.search + location.hash, ({}).polluted]);
  assert.deepEqual(at, ["Owner's page", '/app/', undefined]);
}
