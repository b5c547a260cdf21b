package events

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

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
	w.record(s.clock().Unix(), store.Configure{Live: *s.live.Load()})
	for _, prepare := range []func() error{
		func() error { w.Others = s.parts.Write(own, w); return w.Others.Open() },
		func() error { return s.several.openLive(c) },
		func() error { return w.LimitSize(s.live.Load().MaxBytes) },
		w.FindExpiry,
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
