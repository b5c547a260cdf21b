// The programs under test, run as anybody runs them.
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { hex } from './keys.js'

const bin = process.env.INTEROP_BIN ?? fileURLToPath(new URL('../../../bin', import.meta.url))
const party = fileURLToPath(new URL('../bin/party', import.meta.url))

/**
 * start runs engramd on a free port, with its data in a new folder, until the
 * tests of the file have ended.
 */
export async function start(...flags) {
  const dir = await mkdtemp(join(tmpdir(), 'engramd-interop-'))
  const args = ['serve', '--listen', '127.0.0.1:0', '--metrics-listen', '127.0.0.1:0', '--data', join(dir, 'data'), ...flags]
  const child = spawn(join(bin, 'engramd'), args, { cwd: dir, env: clean(), stdio: ['ignore', 'inherit', 'pipe'] })
  const ended = new Promise(done => child.on('exit', done).on('error', done))
  after(async () => {
    child.kill('SIGTERM')
    await ended
    await rm(dir, { recursive: true, force: true, maxRetries: 20 })
  })
  return new Stage(dir, await ready(child))
}

/** ready waits for the line that says where the relay listens. */
function ready(child) {
  return new Promise((found, failed) => {
    const log = []
    child.on('error', failed)
    child.on('exit', code => failed(new Error(`engramd ended with ${code}:\n${log.join('\n')}`)))
    createInterface(child.stderr).on('line', line => {
      log.push(line)
      const url = /\bready\b.*\burl="?(ws:\/\/[^\s"]+)/.exec(line)?.[1]
      if (url) found(url)
    })
  })
}

/** clean is the environment without anything that configures our programs. */
function clean(more = {}) {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('ENGRAM'))
  return { ...Object.fromEntries(kept), ...more }
}

/** On a busy machine a command may take longer than its own limit. */
const patience = ['--timeout', '5m']

/** Stage is a running relay and the programs that speak to it. */
class Stage {
  constructor(dir, url) {
    this.dir = dir
    this.url = url
    this.http = url.replace(/^ws/, 'http')
  }

  /** as makes engramctl of somebody: an agent of an owner, or the owner of an agent. */
  as(who, pair) {
    return (args, stdin) => this.engramctl(who, pair, args, stdin)
  }

  async engramctl(who, pair, args, stdin) {
    const [side, other] = who.pubkey === pair.agent ? ['ENGRAM_OWNER', pair.owner] : ['ENGRAM_AGENT', pair.agent]
    return this.ctl({ ENGRAM_KEY_FILE: await this.keyFile(who), [side]: other }, args, stdin)
  }

  /** ctl runs engramctl on this relay with more in its environment. */
  ctl(more, args, stdin = '') {
    const env = clean({ ENGRAM_RELAYS: this.url, HOME: this.dir, XDG_CONFIG_HOME: this.dir, ...more })
    return run(join(bin, 'engramctl'), [...patience, ...args], { cwd: this.dir, env }, stdin)
  }

  /** file writes a private file and gives its path. */
  async file(name, text) {
    const path = join(this.dir, name)
    await writeFile(path, text, { mode: 0o600 })
    return path
  }

  /** party runs our side of a contract: see internal/e2e/party. */
  async party(who, args, input) {
    const argv = ['--relay', this.url, '--key-file', await this.keyFile(who), ...args]
    const out = await run(party, argv, { cwd: this.dir, env: clean() }, JSON.stringify(input))
    if (out.code !== 0) throw new Error(`party ${args.join(' ')}: ${out.stderr}`)
    return JSON.parse(out.stdout)
  }

  keyFile(who) {
    return this.file(`${who.pubkey}.key`, hex(who.secret) + '\n')
  }
}

/** run gives {code, stdout, stderr}. */
function run(file, args, options, stdin) {
  return new Promise((done, failed) => {
    const child = spawn(file, args, { ...options, stdio: 'pipe' })
    const out = { code: 0, stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr']) {
      child[name].setEncoding('utf8')
      child[name].on('data', text => { out[name] += text })
    }
    child.stdin.on('error', () => {}) // a program that does not read it may end first
    child.on('error', failed)
    child.on('close', code => done({ ...out, code }))
    child.stdin.end(stdin)
  })
}

/** good gives stdout of a run that succeeded. */
export function good(out) {
  if (out.code !== 0) throw new Error(`exit code ${out.code}: ${out.stderr}`)
  return out.stdout
}
