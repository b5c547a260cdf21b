package hook

import (
	"bytes"
	"encoding/json"
)

// claudeNames are the events in the words of Claude Code and Codex.
var claudeNames = map[Event]string{SessionStart: "SessionStart", Prompt: "UserPromptSubmit", SubagentStart: "SubagentStart"}

type added struct {
	Event string `json:"hookEventName"`
	Text  string `json:"additionalContext"`
}

// Shape returns what is written to stdout so that a text reaches the agent; ""
// for "", and where the harness takes none. Of all that may stand there only the
// answer to Stop is a decision.
func Shape(h Harness, e Event, text string) string {
	if text == "" || !h.Injects(e) {
		return ""
	}
	switch {
	case (h == Claude || h == Codex) && e == Stop:
		return line(struct {
			Decision string `json:"decision"`
			Reason   string `json:"reason"`
		}{"block", text})
	case h == Claude || h == Codex:
		return line(struct {
			Added added `json:"hookSpecificOutput"`
		}{added{claudeNames[e], text}})
	case h == Cursor && e == Stop:
		return line(struct {
			Message string `json:"followup_message"`
		}{text})
	case h == Cursor:
		return line(struct {
			Text string `json:"additional_context"`
		}{text})
	}
	return text
}

// line is a value as one line of JSON, as a model reads it best.
func line(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil { // texts in structs always can be
		return ""
	}
	return b.String()
}
