package events

import (
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/ledger"
	"engramd/internal/relay/store/sqlite/events/search"
)

// writer says what events and commands do to the database. It lives on the
// goroutine of the engine's writer, and has all state that follows from being
// the only one that writes: the sequence counter and what it knows of the
// tables without asking them. Nothing outside that goroutine touches it.
type writer struct {
	applier
	restoring restoring
	s         *Store
}

func newWriter(s *Store) *writer {
	w := &writer{s: s}
	w.Tx, w.table = ledger.Tx{Options: s.live.Load, Logger: s.log}, s.table
	w.text = search.Index{Tx: &w.Tx, On: &s.Indexed, Waiting: s.db.QueueLen, UpTo: -1}
	w.usage.Tx, w.keys.Tx = &w.Tx, &w.Tx
	w.parts = []ledger.Part{&w.text, &w.usage, &w.keys}
	w.restoring = restoring{&w.applier, s.restorer, s.onCommit}
	if q := s.several; q != nil {
		w.placed = true
		if q.admit != nil {
			w.admit = admitting{w, q.admit}.admit
		}
	}
	return w
}

var _ engine.Applier = (*writer)(nil)
