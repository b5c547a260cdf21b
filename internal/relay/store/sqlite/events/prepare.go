package events

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Prepare reads what the writer has to know, and ends what a crash left
// unfinished.
func (w *writer) Prepare(ctx context.Context, own *engine.Writer) error {
	w.Writer = own
	s, c := w.s, own.Conn()
	if err := w.standsAlone(); err != nil {
		return err
	}
	var err error
	if w.seq, err = record.LastSeq(c); err != nil {
		return err
	}
	for table, flag := range map[string]*bool{
		"history": &w.known.history, "deleted_ids": &w.known.deletedIDs,
		"deleted_addresses": &w.known.deletedAddresses, "vanished": &w.known.vanished, "quarantine": &w.known.quarantine,
		"removed_heads": &w.known.floors,
	} {
		if *flag, err = c.Exists("SELECT 1 FROM " + table + " LIMIT 1"); err != nil {
			return err
		}
	}
	s.lastSeq.Store(w.seq)
	w.record(s.clock().Unix(), store.Configure{Live: *s.live.Load()})
	if err := w.keys.Open(); err != nil {
		return err
	}
	for _, prepare := range []func() error{
		func() error { w.others = s.parts.Write(own, w); return w.others.open() },
		w.openLive,
		func() error { return w.LimitSize(s.live.Load().MaxBytes) },
		w.findExpiry,
		func() error { return w.reclassify(ctx) },
		func() error { return w.text.Open(ctx) },
		func() error { return w.countRestores() },
		func() error { return w.finishJobs(ctx) },
	} {
		if err := prepare(); err != nil {
			return err
		}
	}
	return nil
}
