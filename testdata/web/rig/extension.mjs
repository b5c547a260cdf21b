// Packs the extension with a key in it: signers of NIP-07 have one.
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from '../../../internal/web/src/node_modules/esbuild/lib/main.js';
import { hexOf } from './flow.mjs';
import { folder } from './relay.mjs';

const source = fileURLToPath(new URL('../extension', import.meta.url));
const modules = fileURLToPath(new URL('../../../internal/web/src/node_modules', import.meta.url));

/** A page with the extension in it: chromium may open pages before it has loaded extensions. */
export async function withExtension(context, url) {
  const page = await context.newPage();
  do await page.goto(url);
  while (!await page.evaluate(() => 'nostr' in window));
  return page;
}

/**
 * @param {{most?: number, other?: import('./relay.mjs').Party}} [o] most: texts that it decrypts until window.nostr.letGo() is called; other: who signs all but the first
 * @returns {Promise<string>} the folder of an unpacked extension that signs as this party
 */
export async function extensionOf(t, party, { most = Infinity, other } = {}) {
  const dir = await folder(t);
  await cp(join(source, 'manifest.json'), join(dir, 'manifest.json'));
  await build({
    stdin: { contents: await readFile(join(source, 'signer.mjs'), 'utf8'), resolveDir: source },
    bundle: true, format: 'iife', outfile: join(dir, 'bundle.js'), nodePaths: [modules], logLevel: 'error',
    define: { OWNER_SECRET: JSON.stringify(await hexOf(party)), MOST: String(most), OTHER_SECRET: JSON.stringify(other ? await hexOf(other) : '') },
  });
  return dir;
}
