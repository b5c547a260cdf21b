package events

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/ledger"
	"engramd/internal/relay/store/sqlite/events/record"
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
	w := &writer{Writer: apply.NewWriter(ledger.Tx{Options: s.live.Load, Logger: s.o.Log}, s.o.Table, s.rot, &s.Indexed, s.db.QueueLen), s: s}
	w.restoring = restore.Writer{Events: w.Writer, Of: s.Restorer, OnCommit: s.o.OnCommit}
	if s.several != nil {
		w.Placed = true
		if s.o.Admit != nil {
			w.Admit = admitting{w}.admit
		}
	}
	return w
}

var _ engine.Applier = (*writer)(nil)

// End writes what a transaction has collected, at its end.
func (w *writer) End() error {
	if err := w.Stage.End(w.SetMeta); err != nil {
		return err
	}
	return w.s.several.noteState(w.Done)
}

// Durable has readers see up to the last number.
func (w *writer) Durable() {
	w.Usage.Durable()
	w.s.lastSeq.Store(w.Seq)
	if len(w.Done) > 0 {
		w.s.several.to.Durable()
	}
}

// Number is the last sequence number.
func (w *writer) Number() int64 { return w.Seq }

// Announce counts what was removed, and sends what was stored to live readers.
func (w *writer) Announce() { w.Stage.Announce(w.s.o.Observe, w.s.o.OnCommit) }

// Reclaimable reports whether texts that were deleted still take room in the
// full-text index.
func (w *writer) Reclaimable() bool { return w.Text.Purging }

// Reclaim takes them out.
func (w *writer) Reclaim() { w.Text.PurgeNow() }

// Tight has what a deletion takes out of the full-text index leave it at once.
func (w *writer) Tight(on bool) { w.Tx.Tight = on }

// Prepare reads what the writer has to know, and ends what a crash left
// unfinished.
func (w *writer) Prepare(ctx context.Context, own *engine.Writer) error {
	w.Tx.Writer = own
	s, c := w.s, own.Conn()
	if s.several == nil {
		if err := standsAlone(c); err != nil {
			return err
		}
	}
	if err := w.Open(); err != nil {
		return err
	}
	s.lastSeq.Store(w.Seq)
	w.record(s.o.Clock().Unix(), store.Configure{Live: *s.live.Load()})
	for _, prepare := range []func() error{
		func() error { w.Others = s.parts.Write(own, w); return w.Others.Open() },
		func() error { return s.several.openLive(c) },
		func() error { return w.LimitSize(s.live.Load().MaxBytes) },
		w.FindExpiry,
		func() error {
			newest, err := record.NewestArrival(c)
			s.o.Arrived(newest)
			return err
		},
		func() error {
			differs, err := reclassifier{&w.Tx, &w.Keys, w.Table}.run(ctx)
			if differs {
				s.several.otherGate = true
			}
			return err
		},
		func() error { return w.Text.Open(ctx) },
		func() error { return w.restoring.Open() },
		func() error { return w.finishJobs(ctx) },
	} {
		if err := prepare(); err != nil {
			return err
		}
	}
	return nil
}
