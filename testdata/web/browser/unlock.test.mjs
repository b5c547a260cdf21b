// engramctl web: the browser is led to the page, which has the owner's key from this
// machine, encrypted, and asks for the password alone.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { encrypt } from '../../../internal/web/src/node_modules/nostr-tools/lib/esm/nip49.js';
import { Watch, openBrowser, shot } from '../rig/browser.mjs';
import { household } from '../rig/data.mjs';
import { hexOf, openMemory, quiet } from '../rig/flow.mjs';
import { bin, environment, startRelay } from '../rig/relay.mjs';

const password = 'seven words of a password';

/** A machine with an agent's profile and its owner's encrypted key beside it. */
async function machine(t, { only = true } = {}) {
  const relay = await startRelay(t);
  const home = await household(relay);
  if (!only) await home.owner.ctl(['agents', 'allow', home.second.npub]);
  const config = join(relay.dir, 'engramd');
  await mkdir(config, { recursive: true });
  await writeFile(join(config, 'engramctl.toml'), `profile = "sami"\n[profiles.sami]\nrelays = ["${relay.url}"]\nkey_file = "${home.agent.keyFile}"\nowner = "${home.owner.npub}"\nname = "Sami <b>"\n`, { mode: 0o600 });
  await writeFile(join(config, 'sami.owner.ncryptsec'), encrypt(Uint8Array.from(Buffer.from(await hexOf(home.owner), 'hex')), password, 4) + '\n', { mode: 0o600 });
  return { relay, ...home };
}

/** Runs engramctl web. @returns {Promise<{url: string, opened: string, line: (want: RegExp) => Promise<RegExpExecArray>}>} opened: a copy of what its browser was given */
async function serve(t, { relay }, args = []) {
  const run = join(relay.dir, 'run'), programs = join(relay.dir, 'programs'), pipe = join(relay.dir, 'opened');
  await mkdir(run, { mode: 0o700 });
  await mkdir(programs);
  execFileSync('mkfifo', [pipe]);
  await writeFile(join(programs, 'xdg-open'), `#!/bin/sh\nwhile read -r line; do echo "$line"; done < "$1" > '${pipe}'\n`, { mode: 0o700 });
  const child = spawn(join(bin, 'engramctl'), ['web', '--listen', '127.0.0.1:0', ...args],
    { cwd: relay.dir, env: environment(relay.dir, { XDG_RUNTIME_DIR: run, DISPLAY: ':0', PATH: programs }), stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const said = createInterface(child.stderr)[Symbol.asyncIterator]();
  const { value: url } = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
  const opened = join(relay.dir, 'opened.html');
  if (!args.includes('--no-open')) await writeFile(opened, await readFile(pipe));
  return {
    url, opened,
    async line(want) {
      for (;;) {
        const { value, done } = await said.next();
        assert.ok(!done, `it never said ${want}`);
        const found = want.exec(value);
        if (found) return found;
      }
    },
  };
}

const give = async (page, text) => {
  await page.locator('main[data-view=unlock] #password').fill(text);
  await page.getByRole('button', { name: 'Unlock', exact: true }).click();
};

test('the password alone opens the only agent', { timeout: 600_000 }, async t => {
  const m = await machine(t);
  const web = await serve(t, m);
  const page = (await openBrowser(t)).pages()[0];
  const watch = new Watch(page);
  await page.goto(pathToFileURL(web.opened).href);
  await page.locator('main[data-view=unlock]').waitFor();
  assert.equal(page.url(), web.url); // without the ticket
  assert.match(await page.locator('main').innerText(), new RegExp(m.relay.url));
  await shot(page, 'unlock');
  await give(page, 'a wrong one');
  await page.getByText('The password does not open this key.').waitFor();
  await give(page, password);
  await page.locator('main[data-view=memories] .known[data-state=exact]').first().waitFor();
  assert.match(await page.locator('h1').innerText(), /Agent Sami <b> npub1/);
  await openMemory(page, 'people/ana');
  await page.getByRole('button', { name: 'All agents' }).click(); // and it stays there
  await page.locator(`[data-agent="${m.agent.hex}"]`, { hasText: 'Sami <b>' }).waitFor();
  assert.doesNotMatch(await page.content(), /ncryptsec1/);
  quiet(watch, ['null', new URL(web.url).origin, m.relay.http, m.relay.url].filter(o => watch.origins().includes(o)));

  // The ticket worked once.
  await page.goto(pathToFileURL(web.opened).href);
  await page.locator('main[data-view=code]').getByText('This was used before, or is too old').waitFor();
  assert.equal(page.url(), web.url);
  await shot(page, 'unlock-used');
});

test('a code from the terminal does it too, and several agents are listed', { timeout: 600_000 }, async t => {
  const m = await machine(t, { only: false });
  const web = await serve(t, m, ['--no-open']);
  const [, code] = await web.line(/type the code (\S{9})\./);
  const page = (await openBrowser(t)).pages()[0];
  await page.goto(web.url);
  await page.click('[data-way=unlock]');
  await page.fill('#code', 'AAAA-AAAA');
  await page.keyboard.press('Enter');
  await page.getByText('This was used before, or is too old').waitFor();
  await page.fill('#code', code.toLowerCase());
  await page.keyboard.press('Enter');
  await give(page, password);
  await page.locator('main[data-view=agents] .known[data-state=exact]').waitFor();
  assert.equal(await page.locator('.agents [data-agent]').count(), 2);
  await page.click('#logout');
  await page.locator('[data-way=unlock]').waitFor();
});
