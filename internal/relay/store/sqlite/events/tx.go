package events

import (
	"log/slog"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// tx is what every part of the writer works with.
type tx struct {
	*engine.Writer // from Prepare on
	c              *engine.Conn
	args           []engine.Value // of the statement that runs
	live           func() *store.Live
	log            *slog.Logger
	tight          bool // there is no room to leave anything for later
}

// part is a part of the writer that remembers, beside the tables, what a
// transaction has changed so far.
type part interface {
	begin()     // a transaction
	mark()      // where a member begins
	undo()      // what came since the mark
	end() error // writes what was collected
	rolledBack()
	durable()
}
