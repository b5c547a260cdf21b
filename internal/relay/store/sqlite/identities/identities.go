// Package identities keeps the tables of who is who: agents' names and tokens,
// the relay's own keys, and the check value of the master key that kept keys are
// sealed with. It takes part in what the writer does: it executes the commands
// about them.
package identities

import (
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// Writer is what the writer does to these tables. It is used on the writer's
// goroutine alone.
type Writer struct {
	*engine.Writer
	c      *engine.Conn
	others Sealed
}

// NewWriter returns the part of w that is about these tables. others is what
// else is sealed with the master key.
func NewWriter(w *engine.Writer, others Sealed) *Writer { return &Writer{w, w.Conn(), others} }

// Store reads these tables, and has the commands executed that are about them.
type Store struct {
	db     *engine.DB
	orders store.Orders
	others Sealed
}

// NewStore returns who is who in a database. others is what else is sealed with
// the master key.
func NewStore(db *engine.DB, orders store.Orders, others Sealed) *Store {
	return &Store{db, orders, others}
}
