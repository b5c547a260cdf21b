// The plugin that engramctl setup installs for OpenCode, beside a program that
// tells what it was called with, fails, hangs or is not there.
import assert from "node:assert/strict"
import { chmod, mkdtemp, readFile, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import path from "node:path"
import { test } from "node:test"

const source = new URL("../../../internal/agent/harness/opencode_plugin.js", import.meta.url)

// plugin loads a copy that runs a shell script, named anew since modules are kept.
async function plugin(script) {
  const dir = await mkdtemp(path.join(tmpdir(), "engram plugin-"))
  const program = path.join(dir, "engramctl")
  if (script) {
    await writeFile(program, "#!/bin/sh\n" + script)
    await chmod(program, 0o755)
  }
  const text = (await readFile(source, "utf8")).replace('["engramctl"]', JSON.stringify([program, "--profile", "work"]))
  const file = path.join(dir, "engram.mjs")
  await writeFile(file, text.replace('"session-start": 10000', '"session-start": 300'))
  const { Engram } = await import(file)
  return Engram({ directory: "/work/atlas" })
}

async function session(hooks) {
  const system = { system: ["theirs"] }
  await hooks["experimental.chat.system.transform"]({ sessionID: "s1" }, system)
  const parts = [{ type: "text", id: "prt_1", sessionID: "s1", messageID: "m1", text: "How do we release?" }]
  await hooks["chat.message"]({ sessionID: "s1" }, { parts })
  await hooks["experimental.session.compacting"]({ sessionID: "s1" }, { context: [] })
  return { system: system.system, parts }
}

test("what the hooks print reaches the agent", async () => {
  const hooks = await plugin('echo "$@"; cat\n')
  const { system, parts } = await session(hooks)
  assert.deepEqual(system, ["theirs", '--profile work hook session-start --harness opencode\n{"session_id":"s1","cwd":"/work/atlas","source":"startup"}'])
  assert.equal(parts.length, 2)
  assert.deepEqual(parts[1], {
    type: "text", id: "prt_1z", sessionID: "s1", messageID: "m1", synthetic: true,
    text: '--profile work hook prompt --harness opencode\n{"session_id":"s1","cwd":"/work/atlas","prompt":"How do we release?"}',
  })
  await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "s1" } } })
  const after = { system: [] }
  await hooks["experimental.chat.system.transform"]({ sessionID: "s1" }, after)
  assert.match(after.system[0], /"source":"compact"/)
  await hooks.event({ event: { type: "session.deleted", properties: { info: { id: "s1" } } } })
  await hooks.event({ event: { type: "something.else" } })
})

for (const [name, script] of Object.entries({
  "fails": "echo half; exit 2\n",
  "hangs": 'case "$*" in *session-start*) exec sleep 60;; esac\n',
  "is silent": "cat >/dev/null\n",
  "floods": "exec yes\n",
  "does not read": "exec true\n",
  "is not there": "",
})) {
  test("the session goes on when the program " + name, { timeout: 300000 }, async () => {
    const { system, parts } = await session(await plugin(script))
    assert.deepEqual(system, ["theirs"])
    assert.equal(parts.length, 1)
  })
}
