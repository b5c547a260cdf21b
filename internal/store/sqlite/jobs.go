package sqlite

import (
	"cmp"
	"context"
	"slices"

	"engramd/internal/store"
)

// job is what a command began that takes more than one transaction: the rest of
// it is done by store.GoOn, step by step, in the order in which jobs began.
type Job struct {
	pending *Pending // answered when the job is done; nil for one that an earlier process began
	result  store.Result
	request int64 // seq of the event that asked for it
	step    func(*writer) (more bool, err error)
	save    func() (restore func()) // how far it is
}

// goOn does the next step of the oldest job and reports whether it has more.
func (w *writer) goOn() (more bool, err error) {
	if len(w.jobs) == 0 {
		return false, nil
	}
	j := w.jobs[0]
	w.stage.restore = append(w.stage.restore, j.save())
	more, err = j.step(w)
	if err == nil && !more {
		w.stage.ended = j
	}
	return more, err
}

// endJob takes the oldest job off the list and answers who waits for it.
func (w *writer) endJob() {
	j := w.jobs[0]
	w.jobs = w.jobs[1:]
	if j.pending != nil {
		j.pending.finish(j.result)
	}
}

// work does one step of what is to be done besides the queue and reports
// whether there was any: the oldest job, else building the full-text index,
// else housekeeping that is due, else keys that nothing may name any more, in
// indexes and contracts, else texts that are to leave the full-text index. A
// store that follows does what is its own only: all else is commands of
// another's.
func (w *writer) work() bool {
	if len(w.jobs) > 0 && !w.s.follows {
		if _, err := w.issue(store.GoOn{}); err != nil {
			w.s.log.Error("work on the database failed", "err", err)
			w.jobs[0].result = store.Result{Outcome: store.Failed, Err: WriteError(err)}
			w.endJob()
		}
		return true
	}
	if w.building {
		more, err := w.Step((*writer).buildStep)
		if err != nil {
			w.s.log.Error("building the full-text index failed", "err", err)
		}
		w.building = more && err == nil
		return true
	}
	if w.s.follows {
		return w.purge()
	}
	if !w.chores.due(w.s.clock().Unix()) {
		tightened := w.tightenSome()
		forgot := w.forgetSome()
		return w.purge() || tightened || forgot
	}
	more, err := w.issue(w.due())
	if err != nil {
		w.s.log.Error("housekeeping failed", "err", err)
		w.chores.postpone(w.s.clock().Unix())
		return false
	}
	return more
}

// forgetSome does one step of forgetting the parties of contracts and reports
// whether it did anything.
func (w *writer) forgetSome() bool {
	if !w.parts.contracts.Forgetting() {
		return false
	}
	more, err := w.issue(store.ForgetParties{})
	if err != nil {
		w.parts.contracts.GiveUp()
		w.s.log.Error("forgetting parties of contracts failed", "err", err)
	}
	return err == nil && more
}

// stepAlone runs one step in a transaction of its own.
func (w *writer) Step(step func(*writer) (bool, error)) (more bool, err error) {
	w.begin()
	err = WriteError(w.c.Transaction(func() error {
		r := w.protected(func() (store.Result, error) {
			var err error
			more, err = step(w)
			return store.Result{}, err
		})
		if r.Err != nil {
			return r.Err
		}
		return w.writeEnd()
	}))
	w.concluded(err)
	return more, err
}

// finish runs steps until there are no more: at open, when nobody else writes.
func (w *writer) Finish(ctx context.Context, step func(*writer) (bool, error)) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err := w.Step(step); err != nil || !more {
			return err
		}
	}
}

// finishOwn has the store's own command executed until there is no more to do.
func (w *writer) finishOwn(ctx context.Context, c store.Command) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err := w.issue(c); err != nil || !more {
			return err
		}
	}
}

// finishJobs ends what a crash or a shutdown left unfinished, before anybody
// can read; a store that follows leaves that to the commands that come.
func (w *writer) finishJobs(ctx context.Context) error {
	for _, open := range []func() error{w.openVanishes, w.openDeletions} {
		if err := open(); err != nil {
			return err
		}
	}
	slices.SortFunc(w.jobs, func(a, b *Job) int { return cmp.Compare(a.request, b.request) })
	if w.s.follows {
		return nil
	}
	for len(w.jobs) > 0 {
		if err := w.finishOwn(ctx, store.GoOn{}); err != nil {
			return err
		}
	}
	return w.finishOwn(ctx, store.Unstage{})
}
