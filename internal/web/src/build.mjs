// Builds the owner's page into ../dist: files with the hash of their content in
// the name, for a server, and page.json, from which the programs put page.html
// together, all of it in one file, to be opened from disk. The same sources give the
// same bytes: `make web-same` compares.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { licences } from './build-licences.mjs';

const source = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(source, '../dist');

/** What every bundle has in common. */
const common = {
  absWorkingDir: source,
  bundle: true,
  write: false,
  minify: true,
  metafile: true,
  charset: 'utf8',
  legalComments: 'none',
  platform: 'browser',
  target: ['chrome120', 'firefox121', 'safari17'],
  logLevel: 'warning',
};

/** @param {string} kind @param {string} bytes */
const digest = (kind, bytes) => createHash(kind).update(bytes).digest('base64');

/** @param {string} stem @param {string} ext @param {string} bytes */
const named = (stem, ext, bytes) => `${stem}-${createHash('sha256').update(bytes).digest('hex').slice(0, 20)}.${ext}`;

/**
 * @param {string} entry
 * @param {object} options
 * @returns {Promise<{text: string, meta: import('esbuild').Metafile}>}
 */
async function bundle(entry, options) {
  const result = await build({ ...common, ...options, entryPoints: [entry] });
  return { text: result.outputFiles[0].text, meta: result.metafile };
}

/** @param {string} url @param {string} text */
const app = (url, text) => bundle('app.mjs', {
  format: 'esm',
  define: { WORKER_URL: JSON.stringify(url), WORKER_TEXT: JSON.stringify(text) },
});

/**
 * The page with what stands for its parts; each mark is there once.
 * @param {Record<string, string>} parts
 */
function page(parts) {
  let html = readFileSync(join(source, 'index.html'), 'utf8');
  for (const [name, text] of Object.entries(parts)) {
    const pieces = html.split(`<!-- ${name} -->`);
    if (pieces.length !== 2) throw new Error(`index.html has ${pieces.length - 1} marks "${name}"`);
    html = pieces.join(text);
  }
  return html.replace(/\n+/g, '\n');
}

/**
 * What would end an inline element early.
 * @param {string} text
 * @param {RegExp} end
 */
function inline(text, end) {
  if (end.test(text)) throw new Error(`an inline part holds ${end}`);
  return text;
}

/** The one file. Its policy names its only script and its only style by their hashes. */
function single(/** @type {string} */ script, /** @type {string} */ style, /** @type {string} */ notices) {
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${digest('sha256', script)}'`,
    `style-src 'sha256-${digest('sha256', style)}'`,
    'worker-src blob:',
    'connect-src https: wss: http: ws:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types engramd-worker',
  ].join('; ');
  return page({
    policy: `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    icon: '',
    style: `<style>${inline(style, /<\/style/i)}</style>`,
    script: `<script type="module">${inline(script, /<\/script|<!--/i)}</script>`,
  }) + `<!--\n${inline(notices, /-->|--!>/)}-->\n`;
}

const [worker, sheet] = await Promise.all([
  bundle('worker/worker.mjs', { format: 'iife' }),
  bundle('style.css', {}),
]);
const workerName = named('worker', 'js', worker.text);
const [served, whole] = [await app(workerName, ''), await app('', worker.text)];
const appName = named('app', 'js', served.text);
const styleName = named('style', 'css', sheet.text);
const icon = readFileSync(join(source, 'icon.svg'), 'utf8');
const iconName = named('icon', 'svg', icon);
const metas = [worker.meta, served.meta, sheet.meta];
const notices = licences(source, metas);

// What the whole of nostr-tools would bring in is code that nobody has looked at.
const wanted = ['pure', 'nip19', 'nip44', 'nip46', 'nip49'].map((name) => `node_modules/nostr-tools/lib/esm/${name}.js`);
for (const input of metas.flatMap((meta) => Object.keys(meta.inputs))) {
  if (input.includes('/nostr-tools/') && !wanted.includes(input)) throw new Error(`${input} is in the page`);
}

/**
 * What stands before and after a part of a text.
 * @param {string} text @param {string} part
 * @returns {[string, string]}
 */
function around(text, part) {
  const at = text.indexOf(part);
  if (at < 0) throw new Error('a part of page.html is not in it');
  return [text.slice(0, at), text.slice(at + part.length)];
}

/** A text as the string that esbuild makes of it. */
const quoted = (/** @type {string} */ text) => text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n');

/**
 * The one file as texts and spans, in bytes, of the files that are served.
 * @param {string} html
 */
function pieces(html) {
  let [first, last] = [0, 0];
  while (served.text[first] === whole.text[first]) first++;
  while (served.text.at(-1 - last) === whole.text.at(-1 - last)) last++;
  const size = Buffer.byteLength(served.text);
  const to = Buffer.byteLength(served.text.slice(0, first));
  const from = size - Buffer.byteLength(served.text.slice(-last));
  const [head, rest] = around(html, sheet.text);
  const [between, behind] = around(rest, whole.text);
  const [tail, end] = around(behind, notices);
  const [before, after] = around(whole.text.slice(first, -last), quoted(worker.text));
  return [
    { text: head }, { file: styleName }, { text: between },
    { file: appName, to }, { text: before }, { file: workerName, quoted: true }, { text: after }, { file: appName, from },
    { text: tail }, { file: 'licences.txt' }, { text: end },
  ];
}

/** @param {string} bytes */
const integrity = (bytes) => `integrity="sha384-${digest('sha384', bytes)}"`;

const html = single(whole.text, sheet.text, notices);

/** @type {Record<string, string>} */
const files = {
  [appName]: served.text,
  [workerName]: worker.text,
  [styleName]: sheet.text,
  [iconName]: icon,
  'licences.txt': notices,
  'index.html': page({
    policy: '',
    icon: `<link rel="icon" href="${iconName}">`,
    style: `<link rel="stylesheet" href="${styleName}" ${integrity(sheet.text)}>`,
    script: `<script type="module" src="${appName}" ${integrity(served.text)}></script>`,
  }),
  'page.json': `${JSON.stringify(pieces(html), null, 1)}\n`,
};
mkdirSync(out, { recursive: true });
for (const old of readdirSync(out)) if (!(old in files)) rmSync(join(out, old));
for (const name of Object.keys(files)) writeFileSync(join(out, name), files[name]);
for (const [name, text] of Object.entries({ ...files, 'page.html': html }).sort()) {
  console.log(`${createHash('sha256').update(text).digest('hex')}  ${name}  ${Buffer.byteLength(text)} B`);
}
