package thinker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"engramd/internal/memory/consolidation"
	"engramd/internal/platform/files"
)

// tries is how many times the text's length may be looked at for objects that are
// none: prose with braces in it is usual, a text of braces is not.
const tries = 8

// Answer reads the operations out of what a model says: one JSON object with
// "operations", alone, in a fence, or with words around it. Two are no answer, and
// half of one is none either. A list alone is taken if nothing is around it.
func Answer(text []byte) ([]consolidation.Op, error) {
	if len(text) > MaxAnswer {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrAnswer, MaxAnswer)
	}
	found, err := only(unfenced(withoutThoughts(text)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	ops, err := consolidation.ParseOps(bytes.NewReader(found))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return ops, nil
}

// withoutThoughts leaves out what a model thought aloud first, as some servers
// leave it in the answer.
func withoutThoughts(text []byte) []byte {
	text = bytes.TrimSpace(text)
	if rest, has := bytes.CutPrefix(text, []byte("<think>")); has {
		if _, said, ended := bytes.Cut(rest, []byte("</think>")); ended {
			return bytes.TrimSpace(said)
		}
	}
	return text
}

// unfenced takes a fence off that is around the whole text.
func unfenced(text []byte) []byte {
	const fence = "```"
	inner, begins := bytes.CutPrefix(text, []byte(fence))
	inner, ends := bytes.CutSuffix(inner, []byte(fence))
	if !begins || !ends {
		return text
	}
	if _, after, more := bytes.Cut(inner, []byte("\n")); more {
		return bytes.TrimSpace(after) // behind the language
	}
	return text
}

// only returns the one object of a text that has operations.
func only(text []byte) ([]byte, error) {
	if len(text) == 0 {
		return nil, errors.New("it is empty")
	}
	if text[0] == '[' && json.Valid(text) {
		return text, nil
	}
	var found []byte
	half := false
	left := tries * len(text)
	for at := 0; at < len(text); {
		next := bytes.IndexByte(text[at:], '{')
		if next < 0 {
			break
		}
		at += next
		size, closed := object(text[at:])
		if closed && json.Valid(text[at:at+size]) {
			if hasOperations(text[at : at+size]) {
				if found != nil {
					return nil, errors.New(`it has two objects with "operations": which one is meant?`)
				}
				found = text[at : at+size]
			}
			at += size
			continue
		}
		half = half || !closed && bytes.Contains(text[at:], []byte(`"operations"`))
		if left -= size; left < 0 {
			return nil, errors.New("it has more braces than an answer has")
		}
		at++
	}
	switch {
	case half: // whatever else is there: this was to be one too
		return nil, errors.New("it ends in the middle of an object")
	case found == nil:
		return nil, errors.New(`it has no JSON object with "operations"`)
	}
	return found, nil
}

// object returns how long the object is that a text begins with, by its braces
// and strings alone, and whether it ends.
func object(text []byte) (size int, closed bool) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(text), false
}

func hasOperations(object []byte) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return false
	}
	_, has := members["operations"]
	return has
}

// Turn is the right to think, which one process of a user's has at a time. The
// file that is locked for it says how often somebody thought today.
type Turn struct {
	file *os.File
}

// spent is what the file holds.
type spent struct {
	Day  string `json:"day"` // in UTC
	Runs int    `json:"runs"`
}

const (
	dayForm   = "2006-01-02"
	maxRecord = 4096
)

// Take takes the turn: it ends with Close, or with the process. The error is
// ErrBusy if somebody else has it.
func Take(path string) (*Turn, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("the thinkers' lock: %w", err)
	}
	f, err := files.OpenNoFollow(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the thinkers' lock: %w", err)
	}
	if err := files.TryLock(f); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, files.ErrLocked) {
			return nil, ErrBusy
		}
		return nil, fmt.Errorf("the thinkers' lock: %w", err)
	}
	return &Turn{file: f}, nil
}

// Spend counts one thought, before it is thought. The error is ErrBudget if the
// day has no more.
func (t *Turn) Spend(now time.Time, perDay int) error {
	text, err := io.ReadAll(io.NewSectionReader(t.file, 0, maxRecord))
	if err != nil {
		return fmt.Errorf("thoughts of today: %w", err)
	}
	var s spent
	today := now.UTC().Format(dayForm)
	if json.Unmarshal(text, &s) != nil || s.Day != today || s.Runs < 0 { // a new file, or another day's
		s = spent{Day: today}
	}
	if s.Runs >= perDay {
		return fmt.Errorf("%w: %d times", ErrBudget, s.Runs)
	}
	s.Runs++
	if text, err = json.Marshal(s); err != nil {
		return err
	}
	if err := t.file.Truncate(0); err != nil {
		return fmt.Errorf("thoughts of today: %w", err)
	}
	if _, err := t.file.WriteAt(append(text, '\n'), 0); err != nil {
		return fmt.Errorf("thoughts of today: %w", err)
	}
	return nil
}

// Close gives the turn to others.
func (t *Turn) Close() error { return files.Unlock(t.file) }
