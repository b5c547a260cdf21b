const starts = new Map() // session -> what it was told when it began, or began anew

export default {
  id: "engram",
  name: "engram",
  register(api) {
    const say = (event, ctx, more) => hook(event, { session_id: ctx.sessionId, cwd: ctx.workspaceDir, ...more })
    const start = (ctx, source) => {
      if (!starts.has(ctx.sessionId) || source === "compact") starts.set(ctx.sessionId, say("session-start", ctx, { source }))
      return starts.get(ctx.sessionId)
    }
    api.on("before_prompt_build", async ({ prompt, currentUserMessage }, ctx) => {
      if (!ctx.sessionId) return
      const began = await start(ctx, "startup")
      const said = typeof currentUserMessage === "string" ? currentUserMessage : prompt
      const recalled = ctx.trigger === "user" ? await say("prompt", ctx, { prompt: said }) : ""
      return { ...(began && { appendSystemContext: began }), ...(recalled && { prependContext: recalled }) }
    })
    api.on("before_agent_finalize", async ({ stopHookActive }, ctx) => {
      const reason = ctx.sessionId && ctx.trigger === "user" ? await say("stop", ctx, { stop_hook_active: !!stopHookActive }) : ""
      if (reason) return { action: "revise", reason }
    })
    api.on("after_compaction", async (_, ctx) => {
      if (ctx.sessionId) await start(ctx, "compact")
    })
    api.on("session_end", async (_, ctx) => {
      if (!starts.delete(ctx.sessionId)) return
      await say("session-end", ctx, {})
    })
  },
}
