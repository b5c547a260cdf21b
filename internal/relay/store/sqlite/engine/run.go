package engine

import (
	"context"
	"runtime"
	"time"

	"engramd/internal/relay/store"
)

// newWriter has the applier prepare the database.
func newWriter(ctx context.Context, db *DB, c *Conn) (*Writer, error) {
	w := &Writer{changes: changes{c: c, log: db.o.Log}, db: db, applier: db.applier, keeper: keeper{db: db, c: c}}
	_, at, err := readStanding(c, db.o.Last)
	if err != nil {
		return nil, err
	}
	w.marks = marks{o: &db.o, c: c, at: at}
	return w, w.applier.Prepare(ctx, w)
}

// run takes what waits, commits it, and answers; between batches it does other
// work in small steps. It ends when the queue is closed and empty.
func (w *Writer) run(after func(time.Duration) <-chan time.Time) {
	defer close(w.db.stopped)
	for {
		batch := w.db.queue.take(w.db.o.MaxBatch, maxBatchBytes)
		if len(batch) > 0 {
			w.commit(batch)
			w.finishJobs()
			w.keeper.look()
			// Those who were answered come back at once with their next event:
			// let them, and share one commit.
			runtime.Gosched()
		} else if w.db.queue.done() {
			w.abandon()
			w.applier.Reclaim()
			if w.keeper.resume != nil {
				w.keeper.resume()
			}
			if w.keeper.ending != nil {
				<-w.keeper.ending // closing does it once more
			}
			return
		}
		select {
		case <-w.keeper.cleared:
			w.keeper.clear()
		default:
		}
		if w.applier.Work() || len(batch) > 0 {
			continue
		}
		var rested <-chan time.Time
		if d := w.keeper.idle(); d > 0 {
			rested = after(d)
		}
		select {
		case <-w.keeper.cleared:
			w.keeper.clear()
		case err := <-w.keeper.ending:
			w.keeper.wroteBack(err)
		case <-w.db.queue.wake:
		case <-rested:
			w.keeper.writeBack()
		case <-after(w.applier.Idle()):
		}
	}
}

// mark is a point in the transaction to which undo returns.
type mark struct{ jobs, after int }

func (w *Writer) mark() mark {
	w.applier.Mark()
	return mark{len(w.begun), len(w.after)}
}

// undo forgets what was staged since m.
func (w *Writer) undo(m mark) {
	w.applier.Undo()
	w.begun, w.after = w.begun[:m.jobs], w.after[:m.after]
}

// After notes what becomes true when the transaction is durable.
func (w *Writer) After(fn func()) { w.after = append(w.after, fn) }

// begin starts a new transaction's stage.
func (w *Writer) begin() {
	w.beginTransaction()
	w.after = nil
	w.applier.Begin()
	w.marks.raised, w.touched = false, false
	w.Now = w.db.o.Clock().Unix()
}

// concluded makes known what a transaction did, or forgets it when it failed.
func (w *Writer) concluded(err error) {
	if err != nil {
		w.applier.RolledBack()
		w.rolledBack()
		w.after = nil
		return
	}
	if w.touched {
		w.marks.durable(w.applier.Number())
		w.keeper.committed()
	}
	w.applier.Durable()
	for _, fn := range w.after {
		fn()
	}
	w.list = append(w.list, w.begun...)
	w.applier.Announce()
	if w.ended != nil {
		w.endJob()
	}
}

// Step runs one step in a transaction of its own.
func (w *Writer) Step(step func() (more bool, err error)) (more bool, err error) {
	w.begin()
	if err := w.marks.writable(); err != nil {
		w.concluded(err)
		return false, err
	}
	err = WriteError(w.c.Transaction(func() error {
		r := w.protected(func() (store.Result, error) {
			var err error
			more, err = step()
			return store.Result{}, err
		})
		if r.Err != nil {
			return r.Err
		}
		if err := w.applier.End(); err != nil {
			return err
		}
		if w.touched {
			return w.marks.count(w.applier.Number())
		}
		return nil
	}))
	w.concluded(err)
	return more, err
}

// Finish runs steps until there are no more: at open, when nobody else writes.
func (w *Writer) Finish(ctx context.Context, step func() (bool, error)) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err := w.Step(step); err != nil || !more {
			return err
		}
	}
}
