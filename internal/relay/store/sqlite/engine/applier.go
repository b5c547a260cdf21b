package engine

import (
	"context"
	"time"

	"engramd/internal/relay/store"
)

// Applier says what the members of a batch mean: the engine knows their order,
// their cost and when they are durable, and nothing of what they store. All of
// it is called on the writer's goroutine, and Prepare on the opener's before
// there is one.
type Applier interface {
	// Prepare reads what the applier has to know, and ends what a crash left
	// unfinished, before anybody reads. The applier keeps w.
	Prepare(ctx context.Context, w *Writer) error

	// Begin starts what a new transaction will mean outside the database.
	Begin()
	// Mark notes where a member begins, and Undo forgets what came since: its
	// changes of the database are taken back by the engine.
	Mark()
	Undo()
	// Apply does what a member asks for. A result that is Failed or Refused has
	// all of it undone.
	Apply(m *Member) (store.Result, error)
	// Risky reports whether a member may be refused after it changed something,
	// so that it needs a savepoint.
	Risky(m *Member) bool
	// End writes what the transaction has collected.
	End() error

	// Durable is told first that the transaction is, then come the functions
	// given to After, then Announce, which tells others, then the answers.
	Durable()
	Announce()
	// Applied notes a member that is durable, before it is answered.
	Applied(m *Member)
	// RolledBack is told that the transaction is not.
	RolledBack()

	// Reclaimable reports whether something that was removed still takes room,
	// which Reclaim gives free, in transactions of its own.
	Reclaimable() bool
	Reclaim()
	// Tight says that from now on, or no longer, nothing may be left for later,
	// for want of room.
	Tight(on bool)

	// Work does one step of what there is to do besides the queue, in
	// transactions of its own, and reports whether there was any. Without any it
	// is asked again after Idle, or when a member comes.
	Work() bool
	Idle() time.Duration
	// Closing does what is better done before the database is closed.
	Closing()
}
