package store

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Bounds in bytes of stored JSON: what may wait for the writer, and what one transaction may hold.
const (
	maxQueueBytes = 64 << 20
	maxBatchBytes = 16 << 20
)

// writer is the actor that owns the only connection that writes, and all state that follows from being the only one:
// the sequence counter and what it knows of the tables without asking them. Nothing outside its goroutine touches them.
type writer struct {
	s        *Store
	c        *conn
	maxBatch int
	seq      int64 // last one given out; never goes back, also when a transaction fails
	batch    []Committed
}

func newWriter(s *Store, c *conn, maxBatch int) (*writer, error) {
	w := &writer{s: s, c: c, maxBatch: maxBatch}
	var err error
	w.seq, err = c.number("SELECT max(coalesce((SELECT max(seq) FROM events), 0), coalesce((SELECT max(seq) FROM history), 0))")
	if err != nil {
		return nil, fmt.Errorf("read last sequence number: %w", err)
	}
	s.lastSeq.Store(w.seq)
	return w, nil
}

// run takes what waits, commits it, and answers, until the queue is closed and empty.
func (w *writer) run() {
	defer close(w.s.stopped)
	for range w.s.queue.wake {
		for {
			batch := w.s.queue.take(w.maxBatch, maxBatchBytes)
			if len(batch) == 0 {
				break
			}
			w.commit(batch)
		}
		if w.s.queue.done() {
			return
		}
	}
}

// commit applies the batch in one transaction and answers every member. The order matters: durable, then LastSeq, then
// OnCommit, then the answers.
func (w *writer) commit(batch []*Pending) {
	start := time.Now()
	results, err := w.transact(batch)
	w.s.observe.CommitDone(time.Since(start), len(batch), err == nil)
	if err != nil {
		w.s.log.Error("write failed", "events", len(batch), "err", err)
		for _, p := range batch {
			p.finish(Result{Outcome: Failed, Err: err})
		}
		return
	}
	w.s.lastSeq.Store(w.seq)
	if len(w.batch) > 0 {
		w.s.onCommit(w.batch)
	}
	for i, p := range batch {
		p.finish(results[i])
	}
}

// transact runs the batch between BEGIN and COMMIT, each member in a savepoint.
func (w *writer) transact(batch []*Pending) ([]Result, error) {
	w.batch = nil
	results := make([]Result, len(batch))
	err := w.c.transaction(func() error {
		for i, p := range batch {
			r, err := w.guarded(p)
			if err != nil {
				return err
			}
			results[i] = r
		}
		return nil
	})
	return results, writeError(err)
}

// guarded applies one member in its own savepoint. A member that fails is undone and answered Failed; the error is for
// a transaction that cannot go on.
func (w *writer) guarded(p *Pending) (Result, error) {
	if _, err := w.c.exec("SAVEPOINT op"); err != nil {
		return Result{}, err
	}
	mark := len(w.batch)
	r := w.protected(p)
	if r.Outcome == Failed || r.Outcome == Refused {
		w.batch = w.batch[:mark]
		if w.c.db.AutoCommit() {
			// SQLite has rolled the whole transaction back (disk full, I/O error).
			return Result{}, errors.Join(errors.New("transaction lost"), r.Err)
		}
		if _, err := w.c.exec("ROLLBACK TO op"); err != nil {
			return Result{}, err
		}
	}
	if _, err := w.c.exec("RELEASE op"); err != nil {
		return Result{}, err
	}
	return r, nil
}

// protected turns a panic into a failure of the one event that caused it.
func (w *writer) protected(p *Pending) (r Result) {
	defer func() {
		if v := recover(); v != nil {
			w.s.log.Error("panic while writing", "panic", v, "stack", string(debug.Stack()))
			r = Result{Outcome: Failed, Err: fmt.Errorf("panic while writing: %v", v)}
		}
	}()
	if p.job != nil {
		if err := p.job(w); err != nil {
			return Result{Outcome: Failed, Err: err}
		}
		return Result{}
	}
	r, err := w.apply(p)
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
