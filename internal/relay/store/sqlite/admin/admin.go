// Package admin keeps the tables of the management API: lists, the audit of its
// calls, and the calls of the HTTP API that were used. It takes part in what the
// writer does: it executes the commands about them, and says which events are
// banned.
package admin

import (
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// Writer is what the writer does to these tables. It is used on the writer's
// goroutine alone.
type Writer struct {
	*engine.Writer
	c      *engine.Conn
	events Events
	bans   bool // the list of events may have some that are banned
}

// Events is what a change to a list asks of events.
type Events interface {
	// RemoveBanned takes an event out of the database.
	RemoveBanned(id []byte) error
}

// NewWriter returns the part of w that is about these tables. Call Open before
// anything else.
func NewWriter(w *engine.Writer, events Events) *Writer {
	return &Writer{Writer: w, c: w.Conn(), events: events}
}

// Store reads these tables, and has the commands executed that are about them.
type Store struct {
	db     *engine.DB
	orders store.Orders
}

// NewStore returns what is known of a database.
func NewStore(db *engine.DB, orders store.Orders) *Store { return &Store{db, orders} }

const (
	sqlAnyBanned = `SELECT 1 FROM admin_lists WHERE list = 'event' AND verdict = 'banned' LIMIT 1`
	sqlIsBanned  = `SELECT 1 FROM admin_lists WHERE list = 'event' AND key = ? AND verdict = 'banned'`
)

// Open reads whether any event is banned.
func (w *Writer) Open() (err error) {
	w.bans, err = w.c.Exists(sqlAnyBanned)
	return err
}

// Banned reports whether the operator has banned the event of an id, whoever
// brings it.
func (w *Writer) Banned(id []byte) (bool, error) {
	if !w.bans {
		return false, nil
	}
	return w.c.Exists(sqlIsBanned, id)
}

// Execute executes the commands of managing keys, and those about calls.
func (w *Writer) Execute(c store.Command) (answer any, handled bool, err error) {
	switch c := c.(type) {
	case store.Administer:
		err = w.administer(c)
	case store.UseCalls:
		answer, err = w.useCalls(c.Calls, c.Before)
	default:
		return nil, false, nil
	}
	return answer, true, err
}
