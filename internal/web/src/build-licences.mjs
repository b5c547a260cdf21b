// The licences of what is in the bundles, as their packages have them.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const names = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'LICENCE', 'UNLICENSE'];

/**
 * The text of all licences, by package in the order of their names. A package
 * without a licence file fails the build.
 * @param {string} source the folder that node_modules is in
 * @param {import('esbuild').Metafile[]} metas
 */
export function licences(source, metas) {
  /** @type {Set<string>} */
  const packages = new Set();
  for (const meta of metas) {
    for (const input of Object.keys(meta.inputs)) {
      const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
      if (found) packages.add(found[1]);
    }
  }
  let text = "engramd's owner page has parts of these packages in it.\n";
  for (const name of [...packages].sort()) {
    const folder = join(source, 'node_modules', name);
    const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = names.map((n) => join(folder, n)).find((path) => existsSync(path));
    if (!file) throw new Error(`${name} has no licence file`);
    text += `\n== ${name} ${about.version} (${about.license})\n\n${readFileSync(file, 'utf8').trim()}\n`;
  }
  return text;
}
