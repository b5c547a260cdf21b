// Package mcp serves an agent's memory over the Model Context Protocol, so that
// an agent that speaks MCP remembers without knowing Nostr.
//
// A Server has tools (list, read, search, history; write, append, delete and
// restore for the agent itself), the core profile as a resource and as a
// prompt, and each memory as a resource. It knows MCP and the Session alone:
// the client decides what a head is, and what failed.
//
// # Failure
//
// A failure in the memory or on the way to it is a tool result with isError and
// a Failure: a code, what happened, and what to do next. Only a malformed call
// is a protocol error. A failure never reads as absence, because an agent that
// is told "nothing there" overwrites what is merely out of reach.
//
// # Trust
//
// A remembered text may contain anything, also words that somebody planted. It
// is sent as a JSON string, and descriptions say that it is data. Relays' words
// are quoted and cut.
//
// # Bounds
//
// Calls in progress, waiting calls, their time, frames, texts, lists, words of
// a query and snippets are bounded. Writes to one slug run one after the other.
// A write that has begun is finished, even if the caller has gone, so that
// nobody has to guess whether it was; it ends early only when the process does.
package mcp
