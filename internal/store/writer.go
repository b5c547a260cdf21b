package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// maxBatchBytes bounds the cost (record.cost) of one transaction: a quarter of a second or so.
const maxBatchBytes = 4 << 20

// writer is the actor that owns the only connection that writes, and all state that follows from being the only one:
// the sequence counter and what it knows of the tables without asking them. Nothing outside its goroutine touches them.
type writer struct {
	s        *Store
	c        *conn
	maxBatch int
	seq      int64 // last one given out; never goes back, also when a transaction fails
	now      int64 // Unix seconds, the same throughout a transaction
	known    known
	usage    usage
	numbers  numbers
	stage    stage
	dirty    bool     // the current member has changed something, or tried
	current  *Pending // being applied
	jobs     []*job
	chores   chores
	searchTo int64 // events up to this seq are in the full-text index; -1: there is none
	purging  bool  // search_gone may have rows
	loose    bool  // pubkeys_gone may have rows
	noRoom   bool  // nothing is to be put into search_gone and pubkeys_gone

	contractsDone stateKey // see pruneContracts
}

// newWriter reads what the writer has to know, and ends what a crash left unfinished.
func newWriter(ctx context.Context, s *Store, c *conn, maxBatch int) (*writer, error) {
	w := &writer{s: s, c: c, maxBatch: maxBatch, searchTo: -1}
	var err error
	if w.seq, err = lastSeq(c); err != nil {
		return nil, err
	}
	for table, flag := range map[string]*bool{
		"history": &w.known.history, "deleted_ids": &w.known.deletedIDs,
		"deleted_addresses": &w.known.deletedAddresses, "vanished": &w.known.vanished, "quarantine": &w.known.quarantine,
	} {
		if *flag, err = c.exists("SELECT 1 FROM " + table + " LIMIT 1"); err != nil {
			return nil, err
		}
	}
	if w.known.banned, err = c.exists(sqlAnyBanned); err != nil {
		return nil, err
	}
	s.lastSeq.Store(w.seq)
	if w.numbers.last, err = c.number(sqlLastNumber); err != nil {
		return nil, err
	}
	if w.loose, err = c.exists(sqlAnyLoose); err != nil {
		return nil, err
	}
	for _, prepare := range []func() error{
		func() error { return w.setPageLimit(s.live.Load().MaxBytes) },
		w.findExpiry,
		func() error { return w.reclassify(ctx) },
		func() error { return w.openSearch(ctx) },
		func() error { return w.countRestores() },
		func() error { return w.finishVanishes(ctx) },
		func() error { return w.finish(ctx, (*writer).sweepStaged) },
	} {
		if err := prepare(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// sqlLastSeq counts what waits to leave the full-text index too: its number there must not be given out again.
const sqlLastSeq = `SELECT max(coalesce((SELECT max(seq) FROM events), 0), coalesce((SELECT max(seq) FROM history), 0),
	coalesce((SELECT max(seq) FROM search_gone), 0))`

// lastSeq reads the highest sequence number there is.
func lastSeq(c *conn) (int64, error) {
	n, err := c.number(sqlLastSeq)
	if err != nil {
		return 0, fmt.Errorf("read last sequence number: %w", err)
	}
	return n, nil
}

// run takes what waits, commits it, and answers; between batches it does other work in small steps. It ends when the
// queue is closed and empty.
func (w *writer) run(after func(time.Duration) <-chan time.Time) {
	defer close(w.s.stopped)
	for {
		batch := w.s.queue.take(w.maxBatch, maxBatchBytes)
		if len(batch) > 0 {
			w.commit(batch)
			// Those who were answered come back at once with their next event: let them, and share one commit.
			runtime.Gosched()
		} else if w.s.queue.done() {
			w.abandon()
			return
		}
		if w.work() || len(batch) > 0 {
			continue
		}
		select {
		case <-w.s.queue.wake:
		case <-after(w.chores.wait(w.s.clock().Unix())):
		}
	}
}

// abandon answers jobs that the end of the store cuts short; what they have to do is recorded and done at the next open.
func (w *writer) abandon() {
	for _, j := range w.jobs {
		if j.pending != nil {
			j.pending.finish(Result{Outcome: Failed, Err: ErrClosed})
		}
	}
	w.jobs = nil
	w.purgeNow()
}

// commit applies the batch in one transaction and answers every member. The order matters: durable, then LastSeq, then
// OnCommit, then the answers.
//
// When SQLite gives the transaction up half-way, as it does when the disk is full, the batch is tried again in halves,
// so that what fits is stored and only what does not fit fails. An error of COMMIT itself is not tried again.
func (w *writer) commit(batch []*Pending) {
	if batch[0].job != nil { // the queue gives the store's own work alone
		_, err := w.stepAlone(func(w *writer) (bool, error) { return false, batch[0].job(w) })
		batch[0].finish(failure(err))
		return
	}
	start := time.Now()
	results, err := w.transact(batch, false)
	if errors.Is(err, errRedo) {
		w.concluded(err)
		results, err = w.transact(batch, true)
	}
	if w.purging && errors.Is(err, ErrFull) {
		// Texts that were deleted still take the room. The full-text index may ask for it as late as at COMMIT.
		w.concluded(err)
		w.purgeNow()
		results, err = w.transact(batch, true)
	}
	if len(batch) == 1 && errors.Is(err, errLost) && errors.Is(err, ErrFull) {
		// What a deletion takes out of the full-text index waits in the database. There is no room: do it at once.
		w.concluded(err)
		w.noRoom = true
		results, err = w.transact(batch, true)
		w.noRoom = false
	}
	w.s.observe.CommitDone(time.Since(start), len(batch), err == nil)
	w.concluded(err)
	if errors.Is(err, errLost) && len(batch) > 1 {
		w.commit(batch[:len(batch)/2])
		w.commit(batch[len(batch)/2:])
		return
	}
	if err != nil {
		w.s.log.Error("write failed", "events", len(batch), "err", err)
		for _, p := range batch {
			p.finish(failure(err))
		}
		return
	}
	var again []*Pending
	for i, p := range batch {
		if w.purging && !p.again && errors.Is(results[i].Err, ErrFull) {
			p.again = true
			again = append(again, p)
			continue
		}
		if j := w.jobOf(p); j != nil {
			j.result = results[i]
			continue
		}
		p.finish(results[i])
	}
	if len(again) > 0 {
		w.purgeNow()
		w.commit(again)
	}
}

// failure is the result for an error of the store; nil makes an empty one.
func failure(err error) Result {
	if err == nil {
		return Result{}
	}
	return Result{Outcome: Failed, Err: err}
}

// jobOf is the job that will answer p, if there is one.
func (w *writer) jobOf(p *Pending) *job {
	for _, j := range w.jobs {
		if j.pending == p {
			return j
		}
	}
	return nil
}

// begin starts a new transaction's stage.
func (w *writer) begin() {
	w.stage.reset()
	w.now = w.s.clock().Unix()
}

// concluded makes known what a transaction did, or forgets it when it failed.
func (w *writer) concluded(err error) {
	if err != nil {
		w.usage.clear()
		w.numbers.forget(w.stage.numbered)
		w.stage.reset()
		return
	}
	w.s.lastSeq.Store(w.seq)
	for _, fn := range w.stage.after {
		fn()
	}
	for why, n := range w.stage.removed {
		if n > 0 {
			w.s.observe.Removed(reason(why).String(), n)
		}
	}
	w.jobs = append(w.jobs, w.stage.jobs...)
	if len(w.stage.committed) > 0 {
		w.s.onCommit(w.stage.committed)
	}
}

var (
	// errLost marks the error of a transaction that SQLite gave up before COMMIT.
	errLost = errors.New("transaction rolled back")
	// errRedo says that a member must be undone which has no savepoint.
	errRedo = errors.New("batch to be done again with savepoints")
)

// transact runs the batch between BEGIN and COMMIT. A member that fails is undone, and the others are not.
//
// A savepoint for each costs as much as storing a note, and members hardly ever fail after they changed something: most
// refusals come before. So the first time only risky members get one. If another has to be undone, everything is, and
// the batch is done again, careful, with a savepoint for each.
func (w *writer) transact(batch []*Pending, careful bool) ([]Result, error) {
	w.begin()
	results := make([]Result, len(batch))
	err := w.c.transaction(func() error {
		for i, p := range batch {
			w.current = p
			var err error
			if careful || w.risky(p) {
				results[i], err = w.guarded(p)
			} else {
				results[i], err = w.unguarded(p)
			}
			if err != nil {
				return err
			}
		}
		if err := w.writeIndex(); err != nil {
			return fmt.Errorf("%w: full-text index: %w", errLost, err)
		}
		return nil
	})
	w.current = nil
	return results, writeError(err)
}

// risky reports whether a member may be refused after it changed something: by a quota that is only known to be exceeded
// when it is clear what the write frees.
func (w *writer) risky(p *Pending) bool {
	return w.s.live.Load().Quota != (Quota{}) && (p.rec.d != nil || p.rec.ev.Kind == kindDeletion)
}

// unguarded applies one member without a savepoint. The error is errRedo, or errLost for a transaction that is gone.
func (w *writer) unguarded(p *Pending) (Result, error) {
	m := w.stage.mark()
	w.dirty = false
	r := w.protected(func() (Result, error) { return w.apply(p) })
	switch {
	case r.Outcome != Failed && r.Outcome != Refused:
		return r, nil
	case w.c.db.AutoCommit():
		return Result{}, fmt.Errorf("%w: %w", errLost, r.Err)
	case w.dirty:
		return Result{}, errRedo
	}
	w.undo(m)
	return r, nil
}

// guarded applies one member in its own savepoint. The error is errLost.
func (w *writer) guarded(p *Pending) (Result, error) {
	var r Result
	m := w.stage.mark()
	err := w.inSavepoint(func() error {
		r = w.protected(func() (Result, error) { return w.apply(p) })
		switch r.Outcome {
		case Failed:
			return fmt.Errorf("%w: %w", errUndo, r.Err)
		case Refused:
			return errUndo
		}
		return nil
	})
	switch {
	case err == nil:
		return r, nil
	case w.c.db.AutoCommit() || !errors.Is(err, errUndo):
		return Result{}, fmt.Errorf("%w: %w", errLost, err)
	}
	w.undo(m)
	return r, nil
}

// errUndo rolls a savepoint back, as any error does, where it is not an error.
var errUndo = errors.New("undo")

// inSavepoint runs fn in a savepoint, which is rolled back when fn fails. The error is fn's, or that of a transaction
// that is lost.
func (w *writer) inSavepoint(fn func() error) error {
	if _, err := w.c.exec("SAVEPOINT op"); err != nil {
		return err
	}
	failed := fn()
	if failed != nil {
		if w.c.db.AutoCommit() {
			return errors.Join(errors.New("SQLite rolled the transaction back"), failed)
		}
		if _, err := w.c.exec("ROLLBACK TO op"); err != nil {
			return err
		}
	}
	if _, err := w.c.exec("RELEASE op"); err != nil {
		return err
	}
	return failed
}

// exec changes the database. What an event changes goes through here, so that it is known whether there is anything to
// undo.
func (w *writer) exec(text string, args ...driver.Value) (int64, error) {
	w.dirty = true
	return w.c.exec(text, args...)
}

// protected turns an error or a panic into a failure of the one event that caused it.
func (w *writer) protected(fn func() (Result, error)) (r Result) {
	defer func() {
		if v := recover(); v != nil {
			w.s.log.Error("panic while writing", "panic", v, "stack", string(debug.Stack()))
			r = Result{Outcome: Failed, Err: fmt.Errorf("panic while writing: %v", v)}
		}
	}()
	r, err := fn()
	if err != nil {
		return Result{Outcome: Failed, Err: writeError(err)}
	}
	return r
}

// close checkpoints and closes the connection.
func (w *writer) close() error {
	err := w.c.script("PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, w.c.close())
}
