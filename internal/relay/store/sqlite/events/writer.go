package events

import (
	"engramd/internal/relay/store/sqlite/engine"
)

// writer says what events and commands do to the database. It lives on the
// goroutine of the engine's writer, and has all state that follows from being
// the only one that writes: the sequence counter and what it knows of the
// tables without asking them. Nothing outside that goroutine touches it.
type writer struct {
	remover
	s     *Store
	parts []part
}

func newWriter(s *Store) *writer {
	w := &writer{s: s}
	w.tx, w.table = tx{live: s.live.Load, log: s.log}, s.table
	w.fullText = fullText{tx: &w.tx, on: &s.search, waiting: func() int { return s.db.QueueLen() }, upTo: -1}
	w.usage.tx, w.numbers.tx = &w.tx, &w.tx
	w.parts = []part{&w.fullText, &w.usage, &w.numbers}
	return w
}

var _ engine.Applier = (*writer)(nil)
