package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"time"

	"engramd/internal/store"
)

// writer is the actor that owns the only connection that writes, and all state
// that follows from being the only one: the sequence counter and what it knows
// of the tables without asking them. Nothing outside its goroutine touches
// them.
type writer struct {
	s        *Store
	c        *Conn
	maxBatch int
	seq      int64          // last one given out
	Now      int64          // Unix seconds, the same throughout a transaction
	args     []driver.Value // of the statement that runs
	known    known
	usage    usage
	numbers  numbers
	stage    stage
	dirty    bool     // the current member has changed something, or tried
	current  *Pending // being applied
	jobs     []*Job
	building bool // the full-text index, between batches
	chores   chores
	searchTo int64 // events up to this seq are in the full-text index; -1: there is none
	purging  bool  // search_gone may have rows
	loose    bool  // pubkeys_gone may have rows
	full     bool  // an event did not fit, and none of ordinary size has been seen to fit since
	dropped  int   // cost of all events that were removed since the store was opened
	halved   bool  // a batch is tried again in halves
	noRoom   bool  // nothing is to be put into search_gone and pubkeys_gone
	keeper   keeper

	parts participants
}

// newWriter reads what the writer has to know, and ends what a crash left
// unfinished.
func newWriter(ctx context.Context, s *Store, c *Conn, maxBatch int) (*writer, error) {
	w := &writer{s: s, c: c, maxBatch: maxBatch, searchTo: -1}
	var err error
	if w.seq, err = lastSeq(c); err != nil {
		return nil, err
	}
	for table, flag := range map[string]*bool{
		"history": &w.known.history, "deleted_ids": &w.known.deletedIDs,
		"deleted_addresses": &w.known.deletedAddresses, "vanished": &w.known.vanished, "quarantine": &w.known.quarantine,
		"removed_heads": &w.known.floors,
	} {
		if *flag, err = c.Exists("SELECT 1 FROM " + table + " LIMIT 1"); err != nil {
			return nil, err
		}
	}
	s.lastSeq.Store(w.seq)
	w.record(s.clock().Unix(), store.Configure{Live: *s.live.Load()})
	if w.numbers.last, err = c.Number(sqlLastNumber); err != nil {
		return nil, err
	}
	if w.loose, err = c.Exists(sqlAnyLoose); err != nil {
		return nil, err
	}
	for _, prepare := range []func() error{
		w.addParticipants,
		func() error { return w.setPageLimit(s.live.Load().MaxBytes) },
		w.findExpiry,
		func() error { return w.reclassify(ctx) },
		func() error { return w.openSearch(ctx) },
		func() error { return w.countRestores() },
		func() error { return w.finishJobs(ctx) },
	} {
		if err := prepare(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// sqlLastSeq counts what waits to leave the full-text index too: its number
// there must not be given out again.
const sqlLastSeq = `SELECT max(coalesce((SELECT max(seq) FROM events), 0), coalesce((SELECT max(seq) FROM history), 0),
	coalesce((SELECT max(seq) FROM search_gone), 0), coalesce((SELECT value FROM meta WHERE key = 'last_seq'), 0))`

// lastSeq reads the highest sequence number there is.
func lastSeq(c *Conn) (int64, error) {
	n, err := c.Number(sqlLastSeq)
	if err != nil {
		return 0, fmt.Errorf("read last sequence number: %w", err)
	}
	return n, nil
}

// run takes what waits, commits it, and answers; between batches it does other
// work in small steps. It ends when the queue is closed and empty.
func (w *writer) run(after func(time.Duration) <-chan time.Time) {
	defer close(w.s.stopped)
	for {
		batch := w.s.queue.take(w.maxBatch, maxBatchBytes)
		if len(batch) > 0 {
			w.commit(batch)
			w.keepLog()
			// Those who were answered come back at once with their next event:
			// let them, and share one commit.
			runtime.Gosched()
		} else if w.s.queue.done() {
			w.abandon()
			if w.keeper.resume != nil {
				w.keeper.resume()
			}
			return
		}
		select {
		case <-w.keeper.cleared:
			w.clearLog()
		default:
		}
		if w.work() || len(batch) > 0 {
			continue
		}
		select {
		case <-w.keeper.cleared:
			w.clearLog()
		case <-w.s.queue.wake:
		case <-after(w.chores.wait(w.s.clock().Unix())):
		}
	}
}

// abandon answers jobs that the end of the store cuts short; what they have to
// do is recorded and done at the next open.
func (w *writer) abandon() {
	for _, j := range w.jobs {
		if j.pending != nil {
			j.pending.finish(store.Result{Outcome: store.Failed, Err: store.ErrClosed})
		}
	}
	w.jobs = nil
	w.purgeNow()
}

// close checkpoints and closes the connection.
func (w *writer) close() error {
	err := w.c.Script("PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, w.c.Close())
}
