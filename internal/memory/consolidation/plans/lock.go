package plans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"engramd/internal/memory/consolidation"
	"engramd/internal/platform/files"
)

// Status says how far a recorded plan is.
type Status string

// The statuses.
const (
	Writing   Status = "writing"  // its record is being written; nothing else was
	Proposed  Status = "proposed" // it waits for somebody to look at it
	Open      Status = "open"     // it is being carried out
	Done      Status = "done"
	Undoing   Status = "undoing" // it is being taken back
	TakenBack Status = "undone"
	Rejected  Status = "rejected"
	Dropped   Status = "dropped" // it was killed before anything was changed
)

func (s Status) known() bool {
	switch s {
	case Writing, Proposed, Open, Undoing:
		return true
	}
	return s.closed()
}

func (s Status) closed() bool {
	return s == Done || s == TakenBack || s == Rejected || s == Dropped
}

// Left is a unit that was left as it is, and why.
type Left struct {
	Slug string `json:"slug"`
	Why  string `json:"why"`
}

// Result says what came of operations.
type Result struct {
	ID      string                 // of the record; "" if nothing was to be written
	Status  Status                 // "" if nothing was to be written
	Changes []consolidation.Change // all of them, those that were left too; none of what was taken back
	Left    []Left
	// Behind are relays that did not take something that another one took.
	Behind []string
	// Again says that it had been done before, and nothing was written now.
	Again bool
}

// Undone says what came of taking a plan back.
type Undone struct {
	ID   string
	Back []string // slugs that are as they were
	Left []Left   // changed since, or never changed by the plan
	// Behind are relays that did not take something that another one took.
	Behind []string
}

// Record is what is known of a plan that was committed or proposed.
type Record struct {
	ID            string
	Plan          string // the same but for a suffix
	Kind          consolidation.Kind
	Status        Status
	Machine       string
	Began, Closed time.Time
	Changes       int
	Left          []Left // by the commit, and by an undo
	Err           error  // ErrRecord: nothing else is known
}

// Proposal is a record to be looked at.
type Proposal struct {
	Record
	Plan  consolidation.Plan
	Steps []Step
	// Err is why it could not be accepted as a whole now, nil if it could.
	Err error
}

// Step is one operation and what it would change.
type Step struct {
	Op      consolidation.Op
	Changes []consolidation.Change
}

const (
	defaultWait = 10 * time.Second
	lockPoll    = 50 * time.Millisecond
)

// locked does something while no other process of this machine carries out a plan.
// It waits that long for another one; the error is ErrBusy then.
func locked[T any](ctx context.Context, p *Plans, wait time.Duration, do func(*writer) (T, error)) (none T, err error) {
	if err := os.MkdirAll(filepath.Dir(p.Lock), 0o700); err != nil {
		return none, fmt.Errorf("lock plans: %w", err)
	}
	f, err := files.OpenNoFollow(p.Lock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return none, fmt.Errorf("lock plans: %w", err)
	}
	defer files.Unlock(f)
	waiting, done := context.WithTimeout(ctx, wait)
	defer done()
	switch err := files.Lock(waiting, f, lockPoll); {
	case ctx.Err() != nil:
		return none, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return none, ErrBusy
	case err != nil:
		return none, fmt.Errorf("lock plans: %w", err)
	}
	return do(&writer{memory: p.Memory})
}

func (p *Plans) wait() time.Duration { return cmp.Or(p.Wait, defaultWait) }
