// Package plans makes plans of internal/memory/consolidation happen: whole or not at all, and so
// that they can be taken back.
//
// A plan that was shown is kept in the machine's state until it is committed or
// expires. A commit is judged as a whole, and then leaves a record in the memory
// itself, before anything else is written: a head at mem/sys/plans/<id>, which says
// how far it is, and parts at …/<id>/<k> with the operations and every text that is
// replaced. The head is claimed for one commit by a write for "nothing there", names
// the hashes of its parts, and says "open" only once all of them are there. Nothing
// is changed before that, so a record that is open is whole, and whoever has the key
// can finish it, or take it back, weeks later and without any history of a relay.
//
// Each change is a write based on the text it was made from. One whose new text is
// there already is done; one of which the text is another is left and named. So a
// commit may be killed between any two writes, and carried out again by anybody, and
// ends the same. What adds stands before what takes away, and what takes away is left
// if what it relies on was.
package plans

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/client"
	clientmemory "engramd/internal/client/memory"
	"engramd/internal/memory/consolidation"
	recallanswer "engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/nips/nipae"
)

const (
	// Lasts is how long a plan that was shown can be committed.
	Lasts = 24 * time.Hour
	// Kept is how long the record of a plan stays after it was closed.
	Kept = 90 * 24 * time.Hour
	// MaxRecord is how long a record is at most, and maxBody one of its bodies, in
	// bytes as they are encrypted.
	MaxRecord = 512 << 10
	maxBody   = 48 << 10
	// maxChanges bounds the ids that a head names.
	maxChanges = 400
)

// What methods fail with, besides consolidation.ErrChanged, consolidation.OpError and errors of the
// memory.
var (
	// ErrNoPlan is a plan that was not shown on this machine, or too long ago.
	ErrNoPlan = errors.New("no such plan was prepared here, or it has expired: prepare again")
	// ErrNoRecord is an id of which nothing is recorded.
	ErrNoRecord = errors.New("there is no record of such a plan")
	// ErrRecord is a record that cannot be read.
	ErrRecord = errors.New("the plan's record cannot be read")
	// ErrStatus is a record that is not in a state in which that can be done.
	ErrStatus = errors.New("not now")
	// ErrBusy means that another process of this machine is at it.
	ErrBusy = errors.New("another process is carrying out a plan")
	// ErrTooLarge is a plan of which the record would be too long.
	ErrTooLarge = fmt.Errorf("the plan's record would be longer than %d KiB: do it in several plans", MaxRecord>>10)
	// ErrID is a text that names no plan.
	ErrID = errors.New("that is no plan's id")
)

// OpenError says that a plan has begun to be carried out and is not finished: it
// goes on at the next start of this machine, or by Resume.
type OpenError struct {
	ID  string // of the record
	Err error  // what stopped it
}

// Error says what stopped it and how it goes on.
func (e *OpenError) Error() string {
	return fmt.Sprintf("%s is not finished, and goes on at the next start or with \"mind resume %s\": %v", e.ID, e.ID, e.Err)
}

// Unwrap gives what stopped it.
func (e *OpenError) Unwrap() error { return e.Err }

// ChangedError says which units were changed since a plan was carried out, so that
// it was not taken back. Nothing was written.
type ChangedError struct {
	ID      string
	Changed []Left
	Rest    int // how many can be brought back
}

// Error names the units.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("changed since %s: %s; the other %d can be brought back by force", e.ID, names(e.Changed), e.Rest)
}

// Is makes it consolidation.ErrChanged.
func (e *ChangedError) Is(target error) bool { return target == consolidation.ErrChanged }

// Memory is what is read and written; *memory.Memory implements it.
type Memory interface {
	Get(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error)
	Set(ctx context.Context, slug nipae.Slug, text string, o clientmemory.SetOptions) (client.Entry, client.Status, error)
	RemoveVersion(ctx context.Context, slug nipae.Slug, base string) (client.Entry, client.Status, error)
}

// OpenPlans are those that are open; state.Plans implements it.
type OpenPlans interface {
	Put(ctx context.Context, p memorystate.Plan) error
	Get(ctx context.Context, id string) (memorystate.Plan, error)
	All(ctx context.Context) ([]memorystate.Plan, error)
	Close(ctx context.Context, id string) error
}

// Tallies count what plans did with memories; state.Tallies implements it.
type Tallies interface {
	Add(ctx context.Context, kind string, slugs ...string) error
	Of(ctx context.Context, kind string) (map[string]memorystate.Tallied, error)
	Forget(ctx context.Context, kind string, slugs ...string) error
}

var (
	_ Memory    = (*clientmemory.Memory)(nil)
	_ OpenPlans = memorystate.Plans{}
	_ Tallies   = memorystate.Tallies{}
)

// Plans are the plans of one agent on one machine. Any number of goroutines and
// processes may use the same state and lock.
type Plans struct {
	Memory  Memory
	Source  recallanswer.Source // of the same memory
	Open    OpenPlans
	Tallies Tallies
	Lock    string           // the path of a file in the state's folder
	Machine string           // what records call this machine
	Session string           // stamped on what is written; "" for none
	Clock   func() time.Time // nil is the system's
	Wait    time.Duration    // for the lock; 0 is 10 s
	// Near compares the meaning of a text with what is there; nil without a model.
	Near func(ctx context.Context, text string) (func(slug string, section int) (float64, bool), error)
}

func (p *Plans) now() time.Time {
	if p.Clock == nil {
		return time.Now().UTC()
	}
	return p.Clock().UTC()
}
