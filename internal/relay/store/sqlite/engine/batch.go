package engine

import (
	"errors"
	"fmt"
	"time"

	"engramd/internal/relay/store"
)

// maxBatchBytes bounds the cost of one transaction: a quarter of a second or so.
const maxBatchBytes = 4 << 20

// commit applies the batch in one transaction and answers every member. The
// order matters: durable, then the applier is told, then whoever it tells, then
// the answers.
//
// When SQLite gives the transaction up half-way, as it does when the disk is
// full, the batch is tried again in halves, so that what fits is stored and
// only what does not fit fails. An error of COMMIT itself is not tried again.
func (w *Writer) commit(batch []*Member) {
	if w.halted != nil {
		for _, m := range batch {
			m.finish(failure(w.halted))
		}
		return
	}
	if m := batch[0]; m.alone != nil { // the queue gives it alone
		m.finish(failure(m.alone()))
		return
	}
	start := time.Now()
	batch, results, err := w.attempt(batch)
	took := time.Since(start)
	w.db.o.Observe.CommitDone(took, len(batch), err == nil)
	if err == nil {
		w.db.recent.commit(took)
	}
	w.concluded(err)
	if err != nil && w.strict() {
		w.Halt(err)
	} else if errors.Is(err, errLost) && len(batch) > 1 {
		halved := w.halved
		w.halved = true // what were put back now would come behind the other half
		w.commit(batch[:len(batch)/2])
		w.commit(batch[len(batch)/2:])
		w.halved = halved
		return
	}
	if err != nil {
		w.failed(batch[0], len(batch), err)
		for _, m := range batch {
			m.finish(failure(err))
		}
		return
	}
	w.answer(batch, results)
}

// attempt applies a batch, or the beginning of it, which it returns: the rest
// waits for another transaction. It is tried again where that may help.
func (w *Writer) attempt(batch []*Member) (applied []*Member, results []store.Result, err error) {
	transact := func(careful bool) {
		results, err = w.transact(batch, careful)
		w.db.queue.putBack(batch[len(results):])
		batch = batch[:len(results)]
	}
	transact(false)
	if errors.Is(err, errRedo) {
		w.concluded(err)
		transact(true)
	}
	if w.applier.Reclaimable() && errors.Is(err, store.ErrFull) {
		// What was removed still takes the room; it may be missing as late as at
		// COMMIT.
		w.concluded(err)
		w.applier.Reclaim()
		transact(true)
	}
	if len(batch) == 1 && !w.strict() && errors.Is(err, errLost) && errors.Is(err, store.ErrFull) {
		// What a member leaves for later waits in the database. There is no room:
		// do it at once.
		w.concluded(err)
		w.applier.Tight(true)
		transact(true)
		w.applier.Tight(false)
	}
	return batch, results, err
}

// answer tells who waits what became of members that are durable. Those that
// did not fit are tried once more when there is room to be had.
func (w *Writer) answer(batch []*Member, results []store.Result) {
	var again []*Member
	var lost, stored int
	var failed *Member
	var err error
	for i, m := range batch {
		if w.applier.Reclaimable() && !m.again && errors.Is(results[i].Err, store.ErrFull) {
			m.again = true
			again = append(again, m)
			continue
		}
		if results[i].Outcome != store.Failed {
			w.applier.Applied(m)
		}
		if results[i].Outcome.OK() {
			stored++
		}
		if j := w.jobOf(m); j != nil {
			j.result = results[i]
			continue
		}
		if results[i].Outcome == store.Failed {
			lost, failed, err = lost+1, m, results[i].Err
		}
		m.finish(results[i])
	}
	if stored > 0 && !errors.Is(w.broken, store.ErrFull) { // what is small may fit beside what does not
		w.broken, w.tried = nil, nil
	}
	if lost > 0 {
		w.failed(failed, lost, err)
	}
	if len(again) > 0 {
		w.applier.Reclaim()
		w.commit(again)
	}
}

// batchTime is how long a transaction applies members while others wait: what
// One costs is guessed from its size, and on a busy machine all take longer.
const batchTime = 25 * time.Millisecond

// StepCost is how much a transaction may do beside its members' own work
// (Writer.Extra) while others wait.
const StepCost = 256 << 10

// longEnough reports whether a transaction has done so much that m, and what
// comes after it, must wait for the next one.
func (w *Writer) longEnough(m *Member, extra int, start time.Time) bool {
	return !w.halved && (extra > StepCost || time.Since(start) > batchTime) && w.db.queue.wants(m.who.Share)
}

// failed tells of members that could not be stored, m among them.
func (w *Writer) failed(m *Member, members int, err error) {
	cause := causeOf(err)
	if cause != causeFault { // which is the member's, and would let one of them keep all others out
		w.broken, w.tried = err, m
	}
	w.db.o.Observe.WriteFailed(cause, members)
	w.db.o.Log.Error("write failed", "events", members, "cause", cause, "err", err)
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
func (w *Writer) transact(batch []*Member, careful bool) ([]store.Result, error) {
	w.begin()
	w.results = append(w.results[:0], make([]store.Result, len(batch))...) // the last batch's are answered
	results := w.results
	extra, start := w.Extra, time.Now()
	if err := w.marks.writable(); err != nil {
		return results, err
	}
	err := w.c.Transaction(func() error {
		for i, m := range batch {
			if i > 0 && w.longEnough(m, w.Extra-extra, start) {
				results = results[:i]
				break
			}
			if !m.timed {
				m.Stamp(w.Now)
			}
			w.Now = m.at
			var err error
			if careful || w.applier.Risky(m) {
				results[i], err = w.guarded(m)
			} else {
				results[i], err = w.unguarded(m)
			}
			if err != nil {
				return err
			}
			if w.strict() && len(w.begun) > 0 { // which come before the next member
				results = results[:i+1]
				break
			}
		}
		err := w.applier.End()
		if err == nil && w.touched {
			err = w.marks.count(w.applier.Number())
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errLost, err)
		}
		return nil
	})
	return results, WriteError(err)
}
