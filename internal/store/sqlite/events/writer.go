package events

import (
	"context"
	"fmt"

	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
)

// writer says what events and commands do to the database. It lives on the
// goroutine of the engine's writer, and has all state that follows from being
// the only one that writes: the sequence counter and what it knows of the
// tables without asking them. Nothing outside that goroutine touches it.
type writer struct {
	*engine.Writer // from prepare on
	s              *Store
	c              *engine.Conn
	seq            int64          // last one given out
	args           []engine.Value // of the statement that runs
	known          known
	usage          usage
	numbers        numbers
	stage          stage
	marked         mark     // where the member began
	current        *Pending // being applied
	building       bool     // the full-text index, between batches
	chores         chores
	searchTo       int64 // events up to this seq are in the full-text index; -1: there is none
	purging        bool  // search_gone may have rows
	loose          bool  // pubkeys_gone may have rows
	noRoom         bool  // nothing is to be put into search_gone and pubkeys_gone

	parts Participants
}

var _ engine.Applier = (*writer)(nil)

// Prepare reads what the writer has to know, and ends what a crash left
// unfinished.
func (w *writer) Prepare(ctx context.Context, own *engine.Writer) error {
	w.Writer, w.c, w.searchTo = own, own.Conn(), -1
	s, c := w.s, w.c
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
	if w.numbers.last, err = c.Number(sqlLastNumber); err != nil {
		return err
	}
	if w.loose, err = c.Exists(sqlAnyLoose); err != nil {
		return err
	}
	for _, prepare := range []func() error{
		func() error { w.parts = s.parts.Write(own, w); return w.parts.open() },
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

// Apply applies an event.
func (w *writer) Apply(m *engine.Member) (store.Result, error) {
	w.current = m.Of.(*Pending)
	defer func() { w.current = nil }()
	return w.apply(w.current)
}

// Risky reports whether an event may be refused after it changed something: by
// a quota that is only known to be exceeded when it is clear what the write
// frees.
func (w *writer) Risky(m *engine.Member) bool {
	r := m.Of.(*Pending).rec
	return (r.d != nil || r.ev.Kind == kindDeletion) && w.mayExceed(r)
}

// Applied records an event that is durable.
func (w *writer) Applied(m *engine.Member) {
	if w.s.executed == nil {
		return
	}
	p := m.Of.(*Pending)
	o := &p.opts
	if o.Replica {
		w.record(p.At(), store.PutCopy{Event: p.rec.json, Past: o.Past})
		return
	}
	w.record(p.At(), store.PutEvent{Event: p.rec.json, Import: o.Import, Base: o.Base, Forward: o.Forward, KnownOnly: o.KnownOnly})
}

// End writes what a transaction has collected, at its end.
func (w *writer) End() error {
	if err := w.writeIndex(); err != nil {
		return fmt.Errorf("full-text index: %w", err)
	}
	if err := w.writeUsage(); err != nil {
		return err
	}
	if w.stage.seqGone {
		if err := w.SetMeta(metaLastSeq, w.seq); err != nil {
			return err
		}
	}
	if w.stage.keyGone {
		return w.SetMeta(metaLastKey, w.numbers.last)
	}
	return nil
}

// The last numbers that were given out, in the table meta, as of the last time
// that something with a number went: the last one is this or the highest in
// use.
const (
	metaLastSeq = "last_seq"
	metaLastKey = "last_key"
)

// Reclaimable reports whether texts that were deleted still take room in the
// full-text index.
func (w *writer) Reclaimable() bool { return w.purging }

// Reclaim takes them out.
func (w *writer) Reclaim() { w.purgeNow() }

// Tight has what a deletion takes out of the full-text index leave it at once.
func (w *writer) Tight(on bool) { w.noRoom = on }

// Closing takes out what it can.
func (w *writer) Closing() { w.purgeNow() }
