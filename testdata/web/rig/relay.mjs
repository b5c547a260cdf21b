// Runs engramd and engramctl for the tests of the owner's page.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const bin = process.env.ENGRAMD_BIN ?? fileURLToPath(new URL('../../../bin', import.meta.url));

/** Our environment without anything that configures the programs. */
export function environment(dir, more = {}) {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('ENGRAM'));
  return { ...Object.fromEntries(kept), HOME: dir, XDG_CONFIG_HOME: dir, XDG_STATE_HOME: dir, XDG_CACHE_HOME: dir, ...more };
}

/** A folder that goes when the test ends, after what works in it. @param {() => unknown} [end] ends that */
export async function folder(t, end = () => {}) {
  const dir = await mkdtemp(join(tmpdir(), 'engramd-web-'));
  t.after(async () => {
    await end();
    await rm(dir, { recursive: true, force: true, maxRetries: 20 });
  });
  return dir;
}

/**
 * startRelay runs engramd until its line that says where it listens. It goes when
 * the test ends.
 * @returns {Promise<{url: string, http: string, dir: string, child: import('node:child_process').ChildProcess, stop: () => Promise<void>}>}
 */
export async function startRelay(t, { env = {}, args = [] } = {}) {
  let stop = async () => {};
  const dir = await folder(t, () => stop());
  const child = spawn(join(bin, 'engramd'), ['serve', '--listen', '127.0.0.1:0', '--metrics-listen', '127.0.0.1:0', '--data', join(dir, 'data'), ...args],
    { cwd: dir, env: environment(dir, env), stdio: ['ignore', 'inherit', 'pipe'] });
  const ended = new Promise(done => { child.on('exit', done); child.on('error', done); });
  stop = async () => { child.kill('SIGKILL'); await ended; };
  const log = [];
  for await (const line of createInterface(child.stderr)) {
    log.push(line);
    const url = /\bready\b.*\burl="?(ws:\/\/[^\s"]+)/.exec(line)?.[1];
    if (url) {
      child.stderr.resume();
      return { url, http: url.replace('ws://', 'http://'), dir, child, stop };
    }
  }
  throw new Error(`engramd did not get ready: ${log.join('\n')}`);
}

/** On a busy machine a command may take longer than its own limit. */
const patience = ['--timeout', '5m'];

/** Somebody with a key file: runs engramctl as him. */
export class Party {
  constructor(dir, name, npub, hex, relays) { Object.assign(this, { dir, name, npub, hex, relays }); }

  get keyFile() { return join(this.dir, `${this.name}.key`); }

  /** Runs engramctl, wants the exit code, and gives stdout. */
  async ctl(args, { code = 0, stdin = '', env = {} } = {}) {
    const done = await run(this.dir, [...patience, ...args], stdin, { ENGRAM_KEY_FILE: this.keyFile, ENGRAM_RELAYS: this.relays.join(','), ...env });
    assert.equal(done.code, code, `engramctl ${args.join(' ')}: ${done.stderr}${done.stdout}`);
    return done.stdout;
  }

  /** As an agent of this owner. */
  async mem(owner, ...args) { return this.ctl(args, { env: { ENGRAM_OWNER: owner.npub } }); }
}

/** newParty makes a key in a relay's folder. */
export async function newParty(relay, name, relays = [relay.url]) {
  const { stdout, code, stderr } = await run(relay.dir, ['key', 'new', join(relay.dir, `${name}.key`)], '', {});
  assert.equal(code, 0, stderr);
  const npub = /npub1[a-z0-9]+/.exec(stdout)[0];
  const shown = await run(relay.dir, ['key', 'show', '--json', '--key-file', join(relay.dir, `${name}.key`)], '', {});
  assert.equal(shown.code, 0, shown.stderr);
  return new Party(relay.dir, name, npub, /\b[0-9a-f]{64}\b/.exec(shown.stdout)[0], relays);
}

function run(dir, args, stdin, env) {
  return new Promise((resolve, reject) => {
    const child = execFile(join(bin, 'engramctl'), args, { cwd: dir, env: environment(dir, env), maxBuffer: 64 << 20 }, (err, stdout, stderr) => {
      if (err && typeof err.code !== 'number') return reject(err);
      resolve({ code: err ? err.code : 0, stdout, stderr });
    });
    child.stdin.on('error', () => {}); // it may have ended without reading
    child.stdin.end(stdin);
  });
}
