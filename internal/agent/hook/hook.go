// Package hook is what happens at the events of a harness: what it says on stdin
// (Read), what an agent is told (Wake, Recalled, Titles, Ask), and the shape in
// which a harness takes that (Shape). It is pure: who calls it reads memories,
// sessions and projects.
//
// What it makes stands in a context that nobody looked at, so nothing external
// comes in: the callers leave it out, and say how many such texts there are.
// Characters are UTF-16 units, as the harnesses count them.
package hook

import "slices"

// Event is when a harness runs a hook.
type Event string

// The events.
const (
	SessionStart  Event = "session-start"
	Prompt        Event = "prompt"
	SubagentStart Event = "subagent-start"
	Stop          Event = "stop"
	PreCompact    Event = "pre-compact"
	SessionEnd    Event = "session-end"
)

// Events are all of them, in the order in which they happen.
var Events = []Event{SessionStart, Prompt, SubagentStart, Stop, PreCompact, SessionEnd}

// Harness is the program that runs the agent.
type Harness string

// The harnesses. Generic is every one that can run a command and read text.
const (
	Claude   Harness = "claude"
	Codex    Harness = "codex"
	Cursor   Harness = "cursor"
	OpenCode Harness = "opencode"
	Gemini   Harness = "gemini"
	Qwen     Harness = "qwen"
	Copilot  Harness = "copilot"
	OpenClaw Harness = "openclaw"
	Generic  Harness = "generic"
)

// Harnesses are all of them.
var Harnesses = []Harness{Claude, Codex, Cursor, OpenCode, Gemini, Qwen, Copilot, OpenClaw, Generic}

// Known reports whether there is such an event and such a harness.
func Known(e Event, h Harness) bool {
	return slices.Contains(Events, e) && slices.Contains(Harnesses, h)
}

// Alone reports whether a process of the harness has one session at a time.
func (h Harness) Alone() bool { return h == Claude }

// Injects reports whether the harness takes text at an event.
func (h Harness) Injects(e Event) bool {
	switch e {
	case SessionStart, Stop:
		return true
	case PreCompact: // the others take no text there, but for the user
		return h == Claude || h == Qwen || h == OpenCode || h == Generic
	case Prompt:
		// Cursor's answer there is a decision about a permission, and nothing else.
		return h != Cursor
	case SubagentStart:
		return h != Cursor && h != Gemini // which has no such event
	}
	return false
}

// MinPrompts is how many prompts a session must have had to be asked at its end.
const MinPrompts = 8

// Ask is what a session is asked that ends without having remembered anything.
const Ask = "This session has remembered nothing so far. If something in it matters later (a decision and why, what the user wants, how something is done here), remember it now: memory_note for what happened, memory_write for what is so. Otherwise just end; you are not asked again."

// Keep is what is asked for before a compaction, of whoever writes the summary.
const Keep = "Before this conversation is compacted: let the summary keep, in full, what is not in the agent's memory yet and matters later (what was decided and why, what the user wants, how something is done here, what is open). The agent is asked to write it with memory_note right after the compaction."
