package sqlite

import (
	"errors"
	"fmt"
	"time"

	"engramd/internal/store"
)

// maxBatchBytes bounds the cost (record.cost) of one transaction: a quarter of
// a second or so.
const maxBatchBytes = 4 << 20

// commit applies the batch in one transaction and answers every member. The
// order matters: durable, then LastSeq, then OnCommit, then the answers.
//
// When SQLite gives the transaction up half-way, as it does when the disk is
// full, the batch is tried again in halves, so that what fits is stored and
// only what does not fit fails. An error of COMMIT itself is not tried again.
func (w *writer) commit(batch []*Pending) {
	if batch[0].rec == nil { // the queue gives it alone
		w.commitAlone(batch[0])
		return
	}
	start := time.Now()
	var results []store.Result
	var err error
	transact := func(careful bool) {
		results, err = w.transact(batch, careful)
		w.s.queue.putBack(batch[len(results):])
		batch = batch[:len(results)]
	}
	transact(false)
	if errors.Is(err, errRedo) {
		w.concluded(err)
		transact(true)
	}
	if w.purging && errors.Is(err, store.ErrFull) {
		// Texts that were deleted still take the room. The full-text index may
		// ask for it as late as at COMMIT.
		w.concluded(err)
		w.purgeNow()
		transact(true)
	}
	if len(batch) == 1 && errors.Is(err, errLost) && errors.Is(err, store.ErrFull) {
		// What a deletion takes out of the full-text index waits in the
		// database. There is no room: do it at once.
		w.concluded(err)
		w.noRoom = true
		transact(true)
		w.noRoom = false
	}
	took := time.Since(start)
	w.s.observe.CommitDone(took, len(batch), err == nil)
	if err == nil {
		w.s.recent.commit(took)
	}
	w.concluded(err)
	if errors.Is(err, errLost) && len(batch) > 1 {
		halved := w.halved
		w.halved = true // what were put back now would come behind the other half
		w.commit(batch[:len(batch)/2])
		w.commit(batch[len(batch)/2:])
		w.halved = halved
		return
	}
	if err != nil {
		w.failed(len(batch), err)
		for _, p := range batch {
			p.finish(failure(err))
		}
		return
	}
	var again []*Pending
	var lost int
	for i, p := range batch {
		if w.purging && !p.again && errors.Is(results[i].Err, store.ErrFull) {
			p.again = true
			again = append(again, p)
			continue
		}
		if results[i].Outcome != store.Failed {
			w.recordPut(p)
		}
		if j := w.jobOf(p); j != nil {
			j.result = results[i]
			continue
		}
		if results[i].Outcome == store.Failed {
			lost, err = lost+1, results[i].Err
		}
		p.finish(results[i])
	}
	if lost > 0 {
		w.failed(lost, err)
	}
	if len(again) > 0 {
		w.purgeNow()
		w.commit(again)
	}
}

// batchTime is how long a transaction applies events while others wait: what an
// event costs is guessed from its size, and on a busy machine all take longer.
const batchTime = 25 * time.Millisecond

// longEnough reports whether a transaction has done so much that p, and what
// comes after it, must wait for the next one.
func (w *writer) longEnough(p *Pending, dropped int, start time.Time) bool {
	return !w.halved && (dropped > removalCost || time.Since(start) > batchTime) && w.s.queue.wants(p.who.Share)
}

// failed tells of events that could not be stored.
func (w *writer) failed(events int, err error) {
	if errors.Is(err, store.ErrFull) {
		w.full = true
		w.s.observe.NoRoom(events)
	}
	w.s.log.Error("write failed", "events", events, "err", err)
}

// failure is the result for an error of the store; nil makes an empty one.
func failure(err error) store.Result {
	if err == nil {
		return store.Result{}
	}
	return store.Result{Outcome: store.Failed, Err: err}
}

// jobOf is the job that will answer p, if there is one.
func (w *writer) jobOf(p *Pending) *Job {
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
	w.stage.last = w.lastGiven()
	w.Now = w.s.clock().Unix()
}

// concluded makes known what a transaction did, or forgets it when it failed.
func (w *writer) concluded(err error) {
	if err != nil {
		w.usage.reset(true)
		w.numbers.forget(w.stage.numbered)
		w.giveBack(w.stage.last)
		for _, restore := range w.stage.restore {
			restore()
		}
		w.stage.reset()
		return
	}
	w.usage.reset(false)
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
	if w.stage.ended != nil {
		w.endJob()
	}
}

// transact runs the batch between BEGIN and COMMIT. A member that fails is
// undone, and the others are not.
//
// A savepoint for each costs as much as storing a note, and members hardly ever
// fail after they changed something: most refusals come before. So the first
// time only risky members get one. If another has to be undone, everything is,
// and the batch is done again, careful, with a savepoint for each.
//
// Results are of the members that were applied, at least one: the others take
// too long while others wait.
func (w *writer) transact(batch []*Pending, careful bool) ([]store.Result, error) {
	w.begin()
	results := make([]store.Result, len(batch))
	work, start := w.dropped, time.Now()
	err := w.c.Transaction(func() error {
		for i, p := range batch {
			if i > 0 && w.longEnough(p, w.dropped-work, start) {
				results = results[:i]
				break
			}
			if w.current = p; !p.timed {
				p.at, p.timed = w.Now, true
			}
			w.Now = p.at
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
		if err := w.writeEnd(); err != nil {
			return fmt.Errorf("%w: %w", errLost, err)
		}
		return nil
	})
	w.current = nil
	return results, WriteError(err)
}

// writeEnd writes what a transaction has collected, at its end.
func (w *writer) writeEnd() error {
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
