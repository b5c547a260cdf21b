package engine

import (
	"context"
	"runtime"
	"time"

	"engramd/internal/relay/store"
)

// newWriter has the applier prepare the database.
func (db *DB) newWriter(ctx context.Context, c *Conn) (*Writer, error) {
	w := &Writer{db: db, c: c, applier: db.applier}
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
			w.keepLog()
			// Those who were answered come back at once with their next event:
			// let them, and share one commit.
			runtime.Gosched()
		} else if w.db.queue.done() {
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
		if w.applier.Work() || len(batch) > 0 {
			continue
		}
		select {
		case <-w.keeper.cleared:
			w.clearLog()
		case <-w.db.queue.wake:
		case <-after(w.applier.Idle()):
		}
	}
}

// abandon answers jobs that the end of the store cuts short; what they have to
// do is recorded and done at the next open.
func (w *Writer) abandon() {
	for _, j := range w.jobs {
		if j.Member != nil {
			j.Member.finish(failure(store.ErrClosed))
		}
	}
	w.jobs = nil
	w.applier.Closing()
}
