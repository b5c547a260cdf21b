package events

import (
	"context"
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// Prepare reads what the writer has to know, and ends what a crash left
// unfinished.
func (w *writer) Prepare(ctx context.Context, own *engine.Writer) error {
	w.Writer, w.c = own, own.Conn()
	s, c := w.s, w.c
	if err := w.standsAlone(); err != nil {
		return err
	}
	var err error
	if w.seq, err = lastSeq(c); err != nil {
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
	if err := w.numbers.open(); err != nil {
		return err
	}
	for _, prepare := range []func() error{
		func() error { w.others = s.parts.Write(own, w); return w.others.open() },
		w.openLive,
		func() error { return w.LimitSize(s.live.Load().MaxBytes) },
		w.findExpiry,
		func() error { return w.reclassify(ctx) },
		func() error { return w.openSearch(ctx) },
		func() error { return w.countRestores() },
		func() error { return w.finishJobs(ctx) },
	} {
		if err := prepare(); err != nil {
			return err
		}
	}
	return nil
}

// sqlLastSeq counts what waits to leave the full-text index too: its number
// there must not be given out again.
const sqlLastSeq = `SELECT max(coalesce((SELECT max(seq) FROM events), 0), coalesce((SELECT max(seq) FROM history), 0),
	coalesce((SELECT max(seq) FROM search_gone), 0), coalesce((SELECT value FROM meta WHERE key = 'last_seq'), 0))`

// lastSeq reads the highest sequence number there is.
func lastSeq(c *engine.Conn) (int64, error) {
	n, err := c.Number(sqlLastSeq)
	if err != nil {
		return 0, fmt.Errorf("read last sequence number: %w", err)
	}
	return n, nil
}
