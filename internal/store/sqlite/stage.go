package sqlite

import "engramd/internal/store"

// stage is what the current transaction will mean outside the database once it
// is durable. A member that is undone takes its part with it.
type stage struct {
	committed []store.Committed
	indexed   []indexChange // to the full-text index, applied at the end of the transaction
	removed   [numReasons]int
	counted   []counted // changes of authors' usage
	numbered  []author  // who got their numbers
	jobs      []*Job    // work to go on with after the commit
	ended     *Job      // the oldest one is done
	restore   []func()  // takes jobs back to where they were, if the transaction fails
	last      lastGiven // before the transaction
	seqGone   bool      // something with a sequence number went
	keyGone   bool      // something with a key's number went
	after     []func()  // what becomes true with the commit
}

// author is a pubkey as a map key.
type author [32]byte

// reason says why rows were removed; its String is a metric label.
type reason int

const (
	byDeletion  reason = iota // NIP-09
	byVanish                  // NIP-62
	byExpiry                  // NIP-40
	byPruning                 // superseded versions beyond the limits of history
	byBan                     // by the operator (NIP-86)
	byOperator                // by a filter of the operator
	byRetention               // by retention.rules
	numReasons
)

func (r reason) String() string {
	return [numReasons]string{"deletion", "vanish", "expiry", "history", "ban", "operator", "retention"}[r]
}

// mark is a point in the transaction to which undo returns.
type mark struct {
	committed, indexed, counted, numbered, jobs, after int
	removed                                            [numReasons]int
	last                                               lastGiven
}

// lastGiven is the last numbers that were given out. What is undone gives its
// numbers back, so that they follow from the commands that were executed and
// from nothing else.
type lastGiven struct{ seq, key int64 }

func (w *writer) lastGiven() lastGiven { return lastGiven{w.seq, w.numbers.last} }

func (w *writer) giveBack(last lastGiven) { w.seq, w.numbers.last = last.seq, last.key }

func (w *writer) mark() mark {
	s := &w.stage
	return mark{len(s.committed), len(s.indexed), len(s.counted), len(s.numbered), len(s.jobs), len(s.after), s.removed, w.lastGiven()}
}

// reset empties the stage for a new transaction. What was handed to OnCommit is
// not reused.
func (s *stage) reset() {
	*s = stage{indexed: s.indexed[:0], counted: s.counted[:0], numbered: s.numbered[:0]}
}

// after notes what becomes true when the transaction is durable.
func (w *writer) After(fn func()) { w.stage.after = append(w.stage.after, fn) }

// undo forgets what was staged since m.
func (w *writer) undo(m mark) {
	w.uncount(w.stage.counted[m.counted:])
	w.stage.counted = w.stage.counted[:m.counted]
	w.numbers.forget(w.stage.numbered[m.numbered:])
	w.stage.committed = w.stage.committed[:m.committed]
	w.stage.indexed = w.stage.indexed[:m.indexed]
	w.stage.numbered = w.stage.numbered[:m.numbered]
	w.stage.jobs = w.stage.jobs[:m.jobs]
	w.stage.after = w.stage.after[:m.after]
	w.stage.removed = m.removed
	w.giveBack(m.last)
}
