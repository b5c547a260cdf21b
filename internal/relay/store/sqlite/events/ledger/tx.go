package ledger

import (
	"log/slog"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// Tx is what every part of the writer works with.
type Tx struct {
	*engine.Writer                // from Prepare on
	Args           []engine.Value // of the statement that runs
	Options        func() *store.Live
	Logger         *slog.Logger
	Tight          bool // there is no room to leave anything for later
}

// Part is a part of the writer that remembers, beside the tables, what a
// transaction has changed so far.
type Part interface {
	Begin()     // a transaction
	Mark()      // where a member begins
	Undo()      // what came since the mark
	End() error // writes what was collected
	RolledBack()
	Durable()
}
