// engram: memory that comes by itself; written by `engramctl setup`, checksum 
// It hands OpenCode's events to `engramctl hook`, and what that prints to the agent.
// Whatever goes wrong, the session goes on without it.
import { spawn } from "node:child_process"

const command = ["engramctl"]
const limits = { "session-start": 10000, prompt: 5000, stop: 5000, "pre-compact": 5000, "session-end": 5000 }
const maxOutput = 64 * 1024

function hook(event, input) {
  return new Promise((resolve) => {
    let text = ""
    let child
    try {
      child = spawn(command[0], [...command.slice(1), "hook", event, "--harness", "opencode"], {
        stdio: ["pipe", "pipe", "ignore"],
        timeout: limits[event],
        windowsHide: true,
      })
    } catch {
      return resolve("")
    }
    child.on("error", () => resolve(""))
    child.on("close", (code) => resolve(code === 0 ? text : ""))
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (part) => {
      text += part
      if (text.length > maxOutput) child.kill()
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(input))
  })
}

export const Engram = async ({ directory }) => {
  const starts = new Map() // session -> what it was told when it began, or began anew

  const say = (event, id, more) => hook(event, { session_id: id, cwd: directory, ...more })
  const start = (id, source) => {
    if (!starts.has(id) || source === "compact") starts.set(id, say("session-start", id, { source }))
    return starts.get(id)
  }

  return {
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      if (!sessionID) return
      const text = await start(sessionID, "startup")
      if (text) output.system.push(text)
    },
    "chat.message": async ({ sessionID }, { parts }) => {
      const asked = parts.find((part) => part.type === "text" && !part.synthetic)
      if (!asked) return
      const text = await say("prompt", sessionID, { prompt: asked.text })
      if (text) parts.push({ ...asked, id: asked.id + "z", text, synthetic: true })
    },
    "experimental.session.compacting": async ({ sessionID }, output) => {
      const text = await say("pre-compact", sessionID, {})
      if (text) output?.context?.push(text)
    },
    event: async ({ event }) => {
      if (event.type === "session.compacted") await start(event.properties?.sessionID, "compact")
      if (event.type === "session.deleted") {
        const id = event.properties?.info?.id
        starts.delete(id)
        await say("session-end", id, {})
      }
    },
  }
}
