package events

import (
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/ledger"
	"engramd/internal/relay/store/sqlite/events/restore"
)

// writer says what events and commands do to the database. It lives on the
// goroutine of the engine's writer, and has all state that follows from being
// the only one that writes: the sequence counter and what it knows of the
// tables without asking them. Nothing outside that goroutine touches it.
type writer struct {
	*apply.Writer
	restoring restore.Writer
	s         *Store
}

func newWriter(s *Store) *writer {
	w := &writer{Writer: apply.NewWriter(ledger.Tx{Options: s.live.Load, Logger: s.log}, s.table, &s.Indexed, s.db.QueueLen), s: s}
	w.restoring = restore.Writer{Events: w.Writer, Of: s.Restorer, OnCommit: s.onCommit}
	if q := s.several; q != nil {
		w.Placed = true
		if q.admit != nil {
			w.Admit = admitting{w, q.admit}.admit
		}
	}
	return w
}

var _ engine.Applier = (*writer)(nil)
