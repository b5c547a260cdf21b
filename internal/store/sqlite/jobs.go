package sqlite

import "context"

// job is work that takes more than one transaction. The writer does one step between batches.
type job struct {
	pending *Pending // answered when the job is done; nil for the store's own work
	result  Result
	step    func(*writer) (more bool, err error)
}

// work does one step of what is to be done besides the queue and reports whether there was any: the oldest job, else
// housekeeping that is due, else keys that nothing may name any more, in indexes and contracts, else texts that are to leave the full-text index.
func (w *writer) work() bool {
	if len(w.jobs) > 0 {
		j := w.jobs[0]
		more, err := w.stepAlone(j.step)
		if err == nil && more {
			return true
		}
		w.jobs = w.jobs[1:]
		if err != nil {
			w.s.log.Error("work on the database failed", "err", err)
			j.result = Result{Outcome: Failed, Err: writeError(err)}
		}
		if j.pending != nil {
			j.pending.finish(j.result)
		}
		return true
	}
	if !w.chores.due(w.s.clock().Unix()) {
		tightened := w.tightenSome()
		forgot := w.forgetSome()
		return w.purge() || tightened || forgot
	}
	more, err := w.stepAlone((*writer).housekeep)
	if err != nil {
		w.s.log.Error("housekeeping failed", "err", err)
		w.chores.postpone(w.s.clock().Unix())
		return false
	}
	return more
}

// stepAlone runs one step in a transaction of its own.
func (w *writer) stepAlone(step func(*writer) (bool, error)) (more bool, err error) {
	w.begin()
	err = writeError(w.c.transaction(func() error {
		r := w.protected(func() (Result, error) {
			var err error
			more, err = step(w)
			return Result{}, err
		})
		if r.Err != nil {
			return r.Err
		}
		if err := w.writeIndex(); err != nil {
			return err
		}
		return w.writeUsage()
	}))
	w.concluded(err)
	return more, err
}

// finish runs steps until there are no more: at open, when nobody else writes.
func (w *writer) finish(ctx context.Context, step func(*writer) (bool, error)) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err := w.stepAlone(step); err != nil || !more {
			return err
		}
	}
}
