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

// Open has nothing to read.
func (w *Writer) Open() error { return nil }

// Vanished takes what an author has on its way off all lists, and forgets who
// refused it.
func (w *Writer) Vanished(author []byte, until int64) (more bool, err error) {
	for _, text := range []string{sqlVanishOutboxFor, sqlVanishOutbox, sqlVanishRefusals} {
		if _, err := w.Exec(text, author, until); err != nil {
			return false, err
		}
	}
	return false, nil
}

// Execute executes the commands on the outbox.
func (w *Writer) Execute(c store.Command) (answer any, handled bool, err error) {
	switch c := c.(type) {
	case store.QueueEvent:
		err = w.queue(c)
	case store.OutboxDone:
		err = w.removeFromOutbox(c.Target, c.Numbers)
	case store.OutboxForget:
		answer, err = w.forgetOutbox(c.Target, c.Until)
	case store.OutboxWithdraw:
		err = w.withdrawFromOutbox(c.EventID)
	case store.OutboxKeep:
		err = w.keepOutbox(c.Targets)
	case store.OutboxRefused:
		err = w.noteRefusal(c)
	default:
		return nil, false, nil
	}
	return answer, true, err
}
