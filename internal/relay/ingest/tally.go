package ingest

import (
	"fmt"

	"engramd/internal/relay/store"
)

// Tally counts the lines of an import by their outcome.
type Tally struct {
	Lines    int64 `json:"lines"` // read and decided, empty ones not counted
	Stored   int64 `json:"stored"`
	Replaced int64 `json:"replaced"` // stored, superseding an older version
	Known    int64 `json:"known"`    // there already
	Older    int64 `json:"older"`    // a newer version is stored
	Deleted  int64 `json:"deleted"`  // deleted by their authors before
	Skipped  int64 `json:"skipped"`  // refused

	Held int64 `json:"held_back,omitempty"` // of agents whose heads were not switched
}

func (t Tally) String() string {
	text := fmt.Sprintf("%d lines: %d stored, %d replaced older versions, %d already there, %d older than what is there, %d deleted before, %d skipped",
		t.Lines, t.Stored, t.Replaced, t.Known, t.Older, t.Deleted, t.Skipped)
	if t.Held > 0 {
		text += fmt.Sprintf(", %d held back", t.Held)
	}
	return text
}

// Skipped is a line that was not stored and why; the reason names no key, id
// or content.
type Skipped struct {
	Line   int64  `json:"line"`
	Reason string `json:"reason"`
}

// Progress is notified of an import's progress, by one goroutine.
type Progress interface {
	Skip(s Skipped) error
	Tick(t Tally) error
}

// count counts an outcome and returns why the event was skipped, if it was.
func (t *Tally) count(r store.Result) string {
	switch r.Outcome {
	case store.Stored:
		t.Stored++
	case store.Replaced:
		t.Replaced++
	case store.Duplicate:
		t.Known++
	case store.Stale:
		t.Older++
	case store.Deleted:
		t.Deleted++
		return r.Message()
	default:
		t.Skipped++
		return r.Message()
	}
	return ""
}

// add counts an agent with its number of lines.
func (t *Tally) add(a ReplacedAgent, lines int64) {
	t.Lines += lines
	if a.HeldBack != "" {
		t.Held += lines
		return
	}
	t.Stored += a.Stored
	t.Replaced += a.Replaced
	t.Older += a.Kept
	t.Deleted += a.Deleted
	t.Skipped += a.Expired
	// A line that is in the file twice counts as stored before, too.
	t.Known += lines - a.Stored - a.Replaced - a.Kept - a.Deleted - a.Expired
}

func (t *Tally) sum(o Tally) {
	t.Lines += o.Lines
	t.Stored += o.Stored
	t.Replaced += o.Replaced
	t.Known += o.Known
	t.Older += o.Older
	t.Deleted += o.Deleted
	t.Skipped += o.Skipped
}
