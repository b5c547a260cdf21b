package store

import (
	"context"
	"errors"

	"github.com/nbd-wtf/go-nostr"
)

// Part says what an event is in the memory of the agent that is captured.
type Part int

// The parts, in the order in which a bundle holds them.
const (
	Heads     Part = iota // the agent's engrams (kind 30174), one per address
	Versions              // what engrams and contract memory superseded
	Deletions             // the agent's requests of kinds 5 and 62, and others' by which contract memory was withdrawn
	Relays                // its relay list (kind 10002)
	Contracts             // contract memory (kinds 30090, 30091) by it or naming it, one per author and contract
)

// CaptureQuery asks for one agent's memory.
type CaptureQuery struct {
	Agent string // 64 lower-case hex
	// At is the instant to rebuild, in Unix seconds, from what had arrived here
	// by then; nil means now, as clients see it. An address without a head now
	// has none at any instant: what was deleted is gone.
	At *int64
}

// ErrNotCovered says that history does not reach back to the instant asked for.
var ErrNotCovered = errors.New("history does not reach back so far")

// RestoreMode says what a restore does to newer heads.
type RestoreMode int

const (
	Repair   RestoreMode = iota // a union: a newer head is never replaced
	Rollback                    // the agent's heads become those staged; newer ones go to quarantine
)

// RestoreOptions say what is restored, and how.
type RestoreOptions struct {
	Mode  RestoreMode
	Agent string // whose heads a rollback may take away; 64 lower-case hex
	Name  string // of this restore, under which quarantine keeps what it took away; not empty for a rollback
	AsOf  int64  // a rollback takes away what was created after this at addresses that have no staged head
}

// Restored is what a restore did, in events.
type Restored struct {
	Stored      int64 `json:"stored"`      // new here
	Replaced    int64 `json:"replaced"`    // new here, and head in place of an older version
	Present     int64 `json:"present"`     // were here already
	Kept        int64 `json:"kept"`        // not taken: a newer version is here, or it is superseded and no versions are kept
	Deleted     int64 `json:"deleted"`     // not taken: their author had them deleted, or has vanished
	Expired     int64 `json:"expired"`     // not taken: their time (NIP-40) is over
	Quarantined int64 `json:"quarantined"` // taken away by a rollback
}

// Quarantine is what one rollback took away.
type Quarantine struct {
	Name     string // of the restore
	Agent    string // hex
	MovedAt  int64
	Heads    int64
	Versions int64 // superseded ones
}

// ErrNoQuarantine says that no rollback of this name took anything away that is
// still kept.
var ErrNoQuarantine = errors.New("nothing is in quarantine under this name")

// View is one agent's memory at one instant. It is valid within the function
// that Capture calls.
type View interface {
	// HistorySince returns the Unix time since which history is complete:
	// nothing that arrived and was superseded later was pruned by its limits.
	// It is 0 when nothing was ever pruned.
	HistorySince() int64
	// Count returns the number of events of a part.
	Count(p Part) int
	// Each calls fn with the stored JSON of every event of a part, in no
	// particular order; fn may keep it. An error of fn ends it.
	Each(ctx context.Context, p Part, fn func(json []byte) error) error
}

// Restoration is a snapshot's events on their way into the store. They are
// staged first, beside other writers, and then switched in by one transaction:
// readers see the old state or the new one. Use it from one goroutine.
type Restoration interface {
	// Add stages one event of the snapshot. It must have been checked as for
	// Begin; an event added twice counts once.
	Add(ctx context.Context, p Part, ev *nostr.Event) error
	// Flush writes to disk what Add collected. Switch does it too.
	Flush(ctx context.Context) error
	// Switch makes what was staged the state that readers see, in one
	// transaction, and removes it from staging.
	Switch(ctx context.Context) (Restored, error)
	// Drop forgets what was staged. It does nothing after Switch.
	Drop(ctx context.Context) error
}
