package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Measure says how long a text is for a harness.
type Measure func(text string) int

// Units counts UTF-16 units, as JavaScript does.
func Units(text string) (n int) {
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// MeasureOf is how a harness counts what it takes at the start of a session.
// Codex keeps 2,500 tokens and counts them by bytes; the others count characters.
func MeasureOf(h Harness) Measure {
	if h == Codex {
		return func(text string) int { return len(text) }
	}
	return Units
}

// cut shortens a text to a length, at the end of a line, and says so in a last
// line, which how describes for a reader who wants the rest.
func (m Measure) cut(text string, most int, how string) string {
	if m(text) <= most {
		return text
	}
	note := fmt.Sprintf("(cut: %s)\n", how)
	left := most - m(note)
	if left <= 0 {
		return ""
	}
	var head strings.Builder
	for l := range strings.Lines(text) {
		if m(l) > left {
			break
		}
		left -= m(l)
		head.WriteString(l)
	}
	if head.Len() == 0 { // one long line: rather its beginning than nothing
		head.WriteString(m.begin(text, left-1) + "\n")
	}
	return head.String() + note
}

// begin returns as much of a text as fits, up to a blank if there is one.
func (m Measure) begin(text string, most int) string {
	end := 0
	for end < len(text) {
		_, size := utf8.DecodeRuneInString(text[end:])
		if most -= m(text[end : end+size]); most < 0 {
			break
		}
		end += size
	}
	if at := strings.LastIndexByte(text[:end], ' '); at > end/2 {
		end = at
	}
	return strings.TrimRight(text[:end], " ")
}

// claudeNames are the events in the words of Claude Code, Codex and Qwen Code, and
// geminiNames those of Gemini CLI.
var (
	claudeNames = map[Event]string{SessionStart: "SessionStart", Prompt: "UserPromptSubmit", SubagentStart: "SubagentStart", Stop: "Stop", PreCompact: "PreCompact"}
	geminiNames = map[Event]string{SessionStart: "SessionStart", Prompt: "BeforeAgent"}
)

type added struct {
	Event string `json:"hookEventName"`
	Text  string `json:"additionalContext"`
}

// Shape returns what is written to stdout so that a text reaches the agent; ""
// for "", and where the harness takes none. Of all that may stand there only an answer to
// Stop is a decision.
func Shape(h Harness, e Event, text string) string {
	if text == "" || !h.Injects(e) {
		return ""
	}
	names := map[Harness]map[Event]string{Claude: claudeNames, Codex: claudeNames, Qwen: claudeNames, Gemini: geminiNames}[h]
	switch {
	case e == PreCompact && h != Qwen:
		return text
	case (names != nil && h != Claude || h == Copilot) && e == Stop: // where that looks like an error
		return line(struct {
			Decision string `json:"decision"`
			Reason   string `json:"reason"`
		}{"block", text})
	case names != nil:
		return line(struct {
			Added added `json:"hookSpecificOutput"`
		}{added{names[e], text}})
	case h == Copilot:
		return line(struct {
			Text string `json:"additionalContext"`
		}{text})
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
