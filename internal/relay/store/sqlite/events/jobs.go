package events

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/search"
)

// Work does one step of what is to be done besides the queue and reports
// whether there was any: the oldest job, else building the full-text index,
// else housekeeping that is due, else keys that nothing may name any more, in
// indexes and contracts, else texts that are to leave the full-text index. A
// store that follows does what is its own only: all else is commands of
// another's.
func (w *writer) Work() bool {
	if w.Busy() && !w.s.o.follows {
		if _, err := w.issue(store.GoOn{}); err != nil {
			w.s.o.Log.Error("work on the database failed", "err", err)
			w.GiveUp(err)
		}
		return true
	}
	if w.Text.Building {
		more, err := w.Step(w.Text.BuildStep)
		if err != nil {
			w.s.o.Log.Error("building the full-text index failed", "err", err)
		}
		w.Text.Building = more && err == nil
		return true
	}
	if w.s.o.follows {
		return w.Text.Purge()
	}
	if !w.choresDue() {
		tightened := w.tightenSome()
		forgot := w.forgetSome()
		return w.Text.Purge() || tightened || forgot
	}
	more, err := w.issue(w.Chores.Command(w.s.o.Clock().Unix()))
	if errors.Is(err, store.ErrClock) {
		return false
	}
	if err != nil {
		w.s.o.Log.Error("housekeeping failed", "err", err)
		w.Chores.Postpone(w.s.o.Clock().Unix())
		return false
	}
	return more
}

// choresDue reports whether there is housekeeping to be done, which all goes by
// age.
func (w *writer) choresDue() bool {
	return w.Chores.Due(w.s.o.Clock().Unix()) && w.s.o.Confirmed()
}

// tightenSome does one step of it between batches and reports whether it did
// anything.
func (w *writer) tightenSome() bool {
	if !w.Keys.Loose {
		return false
	}
	_, err := w.issue(store.Tighten{})
	if err != nil { // what is left is taken up with the next removal, or at the next start
		w.Keys.Loose = false
		w.s.o.Log.Error("forgetting keys failed", "err", err)
	}
	return err == nil
}

// forgetSome does one step of forgetting the parties of contracts and reports
// whether it did anything.
func (w *writer) forgetSome() bool {
	if !w.Others.Contracts.Forgetting() {
		return false
	}
	more, err := w.issue(store.ForgetParties{})
	if err != nil {
		w.Others.Contracts.PutOff()
		w.s.o.Log.Error("forgetting parties of contracts failed", "err", err)
	}
	return err == nil && more
}

// Idle is how long there is nothing to do.
func (w *writer) Idle() time.Duration { return w.Chores.Wait(w.s.o.Clock().Unix()) }

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

// finishJobs ends what was left unfinished, before anybody can read; a store
// that follows leaves that to the commands that come.
func (w *writer) finishJobs(ctx context.Context) error {
	vanishes, err := w.OpenVanishes()
	if err != nil {
		return err
	}
	deletions, err := w.OpenDeletions()
	if err != nil {
		return err
	}
	left := append(vanishes, deletions...)
	slices.SortFunc(left, func(a, b apply.Unfinished) int { return cmp.Compare(a.Request, b.Request) })
	for _, u := range left {
		w.ResumeJob(u.Job)
	}
	if w.s.several != nil {
		return endJobs(ctx, w.Tx.Writer)
	}
	if w.s.o.follows {
		return nil
	}
	for w.Busy() {
		if err := w.finishOwn(ctx, store.GoOn{}); err != nil {
			return err
		}
	}
	return w.finishOwn(ctx, store.Unstage{})
}

// dueCommands are the commands for all that is due.
func (w *writer) dueCommands() (due []store.Command) {
	if w.choresDue() {
		c := w.Chores.Command(w.s.o.Clock().Unix())
		c.After = w.Others.Contracts.Done()
		due = append(due, c)
	}
	if w.Keys.Loose {
		due = append(due, store.Tighten{})
	}
	if w.Others.Contracts.Forgetting() {
		due = append(due, store.ForgetParties{})
	}
	return due
}

// Sweep does all housekeeping that is due now, without waiting for its time:
// expired events, superseded versions that are too old, what retention does not
// keep, deleted texts that are still in the full-text index. The store does the
// same by itself, piece by piece.
func (s *Store) Sweep(ctx context.Context) error {
	if err := s.retainer.Round(ctx); err != nil {
		return err
	}
	for _, c := range []store.Command{store.Housekeep{Expiry: true, Prune: true}, store.Tighten{}, store.ForgetParties{}} {
		for more := true; more; {
			var err error
			if more, err = store.Answer[bool](ctx, s.order, c); err != nil {
				return err
			}
		}
	}
	for more := true; more; {
		err := s.apart(ctx, func(w *writer) (err error) {
			if more = w.Text.Purging; more {
				more, err = w.Text.PurgeStep(search.PurgeChunk)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
