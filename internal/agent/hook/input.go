package hook

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxInput is how many bytes of stdin are read.
const MaxInput = 1 << 20

// mark begins what some shells of Windows hand over: a byte order mark.
const mark = "\ufeff"

// maxField is how long a word of the input may be: an id, a path, a source.
const maxField = 4 << 10

// ErrInput is what is no JSON object, or too long.
var ErrInput = errors.New("what the harness said cannot be read")

// Source says why a session starts.
type Source string

// The sources that make a difference.
const (
	Compact Source = "compact"
	Clear   Source = "clear"
)

// Input is what a harness says at an event. What it does not say is zero.
type Input struct {
	Session string
	Folder  string
	Source  Source
	Prompt  string
	// Active says that a stop was held up by a hook already, or is none of an agent
	// that is done.
	Active bool
}

// Read reads the first JSON value of a stream, and no more of it than MaxInput.
// It does not wait for the stream's end. Its errors are ErrInput.
func Read(h Harness, r io.Reader) (Input, error) {
	limited := &io.LimitedReader{R: r, N: MaxInput}
	said := bufio.NewReader(limited)
	if first, _ := said.Peek(1); string(first) == mark[:1] { // else no second byte need come
		if head, _ := said.Peek(len(mark)); string(head) == mark {
			_, _ = said.Discard(len(mark))
		}
	}
	var fields map[string]json.RawMessage
	if err := json.NewDecoder(said).Decode(&fields); err != nil || fields == nil {
		if limited.N <= 0 {
			return Input{}, fmt.Errorf("%w: it has more than %d bytes", ErrInput, MaxInput)
		}
		return Input{}, fmt.Errorf("%w: it is no JSON object", ErrInput) // err repeats bytes of it
	}
	in := Input{Source: Source(word(fields, "source")), Prompt: text(fields, "prompt")}
	in.Active = flag(fields, "stop_hook_active")
	switch h {
	case Cursor:
		in.Session, in.Folder = word(fields, "conversation_id", "session_id"), word(fields, "cwd")
		if in.Folder == "" {
			in.Folder = first(fields, "workspace_roots")
		}
		// A stop after an error, or of a user, is nothing to hold up; nor is the one
		// after a follow-up.
		status := word(fields, "status")
		in.Active = in.Active || above(fields, "loop_count") || status != "" && status != "completed"
	case OpenCode:
		in.Session, in.Folder = word(fields, "session_id", "sessionID"), word(fields, "cwd", "directory")
	case Copilot:
		in.Session, in.Folder = word(fields, "sessionId"), word(fields, "cwd")
	default:
		in.Session, in.Folder = word(fields, "session_id"), word(fields, "cwd")
	}
	return in, nil
}

// text returns a text; "" if it is none.
func text(fields map[string]json.RawMessage, name string) (s string) {
	if json.Unmarshal(fields[name], &s) != nil {
		return ""
	}
	return s
}

// word returns the first of several texts that is there and is a line of a
// bearable length.
func word(fields map[string]json.RawMessage, names ...string) string {
	for _, name := range names {
		if s := text(fields, name); s != "" && len(s) <= maxField && !strings.ContainsAny(s, "\x00\n\r") {
			return s
		}
	}
	return ""
}

// first returns the first text of a list.
func first(fields map[string]json.RawMessage, name string) string {
	var all []json.RawMessage
	if json.Unmarshal(fields[name], &all) != nil || len(all) == 0 {
		return ""
	}
	return word(map[string]json.RawMessage{name: all[0]}, name)
}

func flag(fields map[string]json.RawMessage, name string) (b bool) {
	return json.Unmarshal(fields[name], &b) == nil && b
}

// above reports whether a number is there and more than 0.
func above(fields map[string]json.RawMessage, name string) bool {
	var n float64
	return json.Unmarshal(fields[name], &n) == nil && n > 0
}
