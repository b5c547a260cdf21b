package engine

import (
	"context"
	"time"

	"engramd/internal/relay/fairness"
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
	// Number is the last one that was given, in the transaction under way too. It
	// never falls, and Options.Last reads it.
	Number() int64
	// RolledBack is told that the transaction is not.
	RolledBack()

	// Reclaimable reports whether something that was removed still takes room,
	// which Reclaim gives free, in transactions of its own: where there is no room,
	// and before the database is closed.
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
}

// Member is something that waits for the writer, and its answer. It is made
// ready by Init, or by DB.Do.
type Member struct {
	Of any // what it is to the applier

	who    fairness.Who // sent it
	cost   int
	alone  func() error // in place of Of: work that has the writer for itself
	at     int64        // Unix seconds: when it was applied first
	timed  bool         // at is set
	again  bool         // tried before, when what was removed took the room
	done   chan struct{}
	result store.Result
	told   func(store.Result) // called with the result, if not nil
}

// Init makes m a member that stands for of and costs about as much as so many
// bytes.
func (m *Member) Init(of any, cost int) {
	m.Of, m.cost, m.done = of, cost, make(chan struct{})
}

// Stamp says when the member is applied, in Unix seconds. Else that is when its
// Transaction begins.
func (m *Member) Stamp(at int64) { m.at, m.timed = at, true }

// Tell has fn called with the result, on the writer's goroutine. It must not
// block.
func (m *Member) Tell(fn func(store.Result)) { m.told = fn }

// At is when it was applied first.
func (m *Member) At() int64 { return m.at }

// Who sent it.
func (m *Member) Who() fairness.Who { return m.who }

// Done is closed when the result is known.
func (m *Member) Done() <-chan struct{} { return m.done }

// Wait returns the result as soon as it is known. The writer always answers,
// also when the store closes.
func (m *Member) Wait() store.Result {
	<-m.done
	return m.result
}

// Finish makes the result known. The writer calls it once.
func (m *Member) finish(r store.Result) {
	m.result = r
	close(m.done)
	if m.told != nil {
		m.told(r)
	}
}
