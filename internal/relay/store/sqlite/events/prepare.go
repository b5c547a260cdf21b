package events

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// Prepare reads what the writer has to know, and ends what a crash left
// unfinished.
func (w *writer) Prepare(ctx context.Context, own *engine.Writer) error {
	w.Writer = own
	s, c := w.s, own.Conn()
	if s.several == nil {
		if err := standsAlone(c); err != nil {
			return err
		}
	}
	if err := w.open(); err != nil {
		return err
	}
	s.lastSeq.Store(w.seq)
	w.record(s.clock().Unix(), store.Configure{Live: *s.live.Load()})
	for _, prepare := range []func() error{
		func() error { w.others = s.parts.Write(own, w); return w.others.open() },
		func() error { return s.several.openLive(c) },
		func() error { return w.LimitSize(s.live.Load().MaxBytes) },
		w.findExpiry,
		func() error {
			differs, err := reclassifier{&w.Tx, &w.keys, w.table}.run(ctx)
			if differs {
				s.several.otherGate = true
			}
			return err
		},
		func() error { return w.text.Open(ctx) },
		func() error { return w.restoring.countRestores() },
		func() error { return w.finishJobs(ctx) },
	} {
		if err := prepare(); err != nil {
			return err
		}
	}
	return nil
}
