// Chromium for the tests: one browser a test file, everything it asks for and
// everything it complains of is written down.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { folder } from './relay.mjs';

const root = process.getuid?.() === 0; // chromium's sandbox refuses to run as root
const PATIENCE = 90_000; // ms: nothing that is to come comes later, also when the machine is busy
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';

/**
 * openBrowser starts chromium with a profile of its own.
 * @param {{extension?: string, width?: number, dark?: boolean}} options
 */
export async function openBrowser(t, options = {}) {
  const args = [...(root ? ['--no-sandbox'] : []), '--disable-background-networking', '--disable-component-update', '--no-first-run',
    '--js-flags=--expose-gc', '--enable-precise-memory-info'];
  if (options.extension) args.push(`--disable-extensions-except=${options.extension}`, `--load-extension=${options.extension}`, '--disable-features=DisableLoadExtensionCommandLineSwitch');
  let context = null;
  context = await chromium.launchPersistentContext(await folder(t, () => context?.close()), {
    executablePath, args, timeout: PATIENCE, headless: true, bypassCSP: false, acceptDownloads: true,
    ignoreDefaultArgs: options.extension ? ['--disable-extensions'] : [],
    viewport: { width: options.width ?? 1280, height: 900 },
    colorScheme: options.dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(PATIENCE);
  await holdSeconds(context);
  return context;
}

/**
 * The seconds that the page, and what is bundled with it, gives a relay pass when the test
 * says so, by passSeconds: a busy machine must not make honest relays silent.
 */
export const holdSeconds = at => at.addInitScript(() => {
  const set = window.setTimeout.bind(window), clear = window.clearTimeout.bind(window), held = new Map();
  let last = 1e9, changed = () => {};
  window.setTimeout = (f, ms, ...more) => {
    if (!(ms >= 4000 && ms <= 10_000)) return set(f, ms, ...more);
    held.set(++last, { ms, f: () => f(...more) });
    changed();
    return last;
  };
  window.clearTimeout = id => { if (held.delete(id)) changed(); else clear(id); };
  window.passSeconds = async n => {
    while (held.size !== n) await new Promise(done => { changed = done; });
    const all = [...held.values()];
    held.clear();
    for (const { f } of all) f();
    return all.map(({ ms }) => ms);
  };
});

/** Has them pass once so many wait for them. @returns {Promise<number[]>} how long each would have lasted, in ms */
export const passSeconds = (page, n) => page.evaluate(n => window.passSeconds(n), n);

/** What a page did that nobody may overlook. */
export class Watch {
  constructor(page) {
    this.requests = [];
    this.dialogs = [];
    this.policy = [];
    this.errors = [];
    this.waiting = new Set();
    page.on('request', r => this.requests.push(r.url()));
    page.on('websocket', s => this.requests.push(s.url()));
    page.on('dialog', d => { this.dialogs.push(d.message()); void d.dismiss(); });
    page.on('pageerror', e => this.errors.push(String(e)));
    page.on('console', m => {
      if (/content.security.policy|trusted/i.test(m.text())) this.policy.push(m.text());
      else if (m.type() === 'error') this.errors.push(m.text());
      for (const look of [...this.waiting]) look();
    });
  }

  /** Waits until what the page complained of is enough. */
  until(enough, ms = PATIENCE) {
    return new Promise((resolve, reject) => {
      const clock = setTimeout(() => { this.waiting.delete(look); reject(new Error(this.policy.join('\n'))); }, ms);
      const look = () => {
        if (!enough()) return;
        clearTimeout(clock);
        this.waiting.delete(look);
        resolve();
      };
      this.waiting.add(look);
      look();
    });
  }

  /** The origins that were asked, without data: and blob:. */
  origins() {
    return [...new Set(this.requests.filter(u => !/^(data|blob|chrome-extension|file):/.test(u)).map(u => new URL(u).origin))].sort();
  }
}

/** Screenshots are written where PAGE_SHOTS names a folder. */
export async function shot(page, name) {
  const out = process.env.PAGE_SHOTS;
  if (!out) return;
  await mkdir(out, { recursive: true });
  await page.screenshot({ path: join(out, `${name}.png`), fullPage: false });
}
