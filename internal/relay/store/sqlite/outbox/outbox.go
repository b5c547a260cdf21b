// Package outbox keeps the table of events that wait for further relays, or for
// this one, and what those refused. It takes part in what the writer does: it
// executes the commands about them, and queues what is to be sent on in the
// transaction that stores it.
package outbox

import (
	"log/slog"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// Writer is what the writer does to these tables. It is used on the writer's
// goroutine alone.
type Writer struct {
	*engine.Writer
	c   *engine.Conn
	log *slog.Logger
}

// NewWriter returns the part of w that is about these tables.
func NewWriter(w *engine.Writer, log *slog.Logger) *Writer { return &Writer{w, w.Conn(), log} }

// Store reads these tables, and has the commands executed that are about them.
type Store struct {
	db     *engine.DB
	orders store.Orders
}

// NewStore returns what waits in a database.
func NewStore(db *engine.DB, orders store.Orders) *Store { return &Store{db, orders} }
