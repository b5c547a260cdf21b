package engine

import (
	"context"
	"runtime"
	"time"
)

// newWriter has the applier prepare the database.
func newWriter(ctx context.Context, db *DB, c *Conn) (*Writer, error) {
	w := &Writer{changes: changes{c: c, log: db.o.Log}, db: db, applier: db.applier, keeper: keeper{db: db, c: c}}
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
			w.applier.Closing()
			if w.keeper.resume != nil {
				w.keeper.resume()
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
		select {
		case <-w.keeper.cleared:
			w.keeper.clear()
		case <-w.db.queue.wake:
		case <-after(w.applier.Idle()):
		}
	}
}
