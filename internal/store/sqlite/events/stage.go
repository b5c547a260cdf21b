package events

import "engramd/internal/store"

// stage is what the current transaction will mean outside the database once it
// is durable, beside what the engine keeps of it. A member that is undone takes
// its part with it.
type stage struct {
	committed []store.Committed
	indexed   []indexChange // to the full-text index, applied at the end of the transaction
	removed   [numReasons]int
	counted   []counted // changes of authors' usage
	numbered  []author  // who got their numbers
	last      lastGiven // before the transaction
	seqGone   bool      // something with a sequence number went
	keyGone   bool      // something with a key's number went
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

// mark is a point in the transaction to which Undo returns.
type mark struct {
	committed, indexed, counted, numbered int
	removed                               [numReasons]int
	last                                  lastGiven
}

// lastGiven is the last numbers that were given out. What is undone gives its
// numbers back, so that they follow from the commands that were executed and
// from nothing else.
type lastGiven struct{ seq, key int64 }

func (w *writer) lastGiven() lastGiven { return lastGiven{w.seq, w.numbers.last} }

func (w *writer) giveBack(last lastGiven) { w.seq, w.numbers.last = last.seq, last.key }

// reset empties the stage for a new transaction. What was handed to OnCommit is
// not reused.
func (s *stage) reset() {
	*s = stage{indexed: s.indexed[:0], counted: s.counted[:0], numbered: s.numbered[:0]}
}

// Begin starts a new transaction's stage.
func (w *writer) Begin() {
	w.stage.reset()
	w.stage.last = w.lastGiven()
}

// Mark notes where a member begins.
func (w *writer) Mark() {
	s := &w.stage
	w.marked = mark{len(s.committed), len(s.indexed), len(s.counted), len(s.numbered), s.removed, w.lastGiven()}
}

// Undo forgets what was staged since the mark.
func (w *writer) Undo() {
	m := &w.marked
	w.uncount(w.stage.counted[m.counted:])
	w.stage.counted = w.stage.counted[:m.counted]
	w.numbers.forget(w.stage.numbered[m.numbered:])
	w.stage.committed = w.stage.committed[:m.committed]
	w.stage.indexed = w.stage.indexed[:m.indexed]
	w.stage.numbered = w.stage.numbered[:m.numbered]
	w.stage.removed = m.removed
	w.giveBack(m.last)
}

// RolledBack forgets what a transaction would have meant.
func (w *writer) RolledBack() {
	w.usage.reset(true)
	w.numbers.forget(w.stage.numbered)
	w.giveBack(w.stage.last)
	w.stage.reset()
}

// Durable has readers see up to the last number.
func (w *writer) Durable() {
	w.usage.reset(false)
	w.s.lastSeq.Store(w.seq)
}

// Announce tells of what was removed, and who listens of what was stored.
func (w *writer) Announce() {
	for why, n := range w.stage.removed {
		if n > 0 {
			w.s.observe.Removed(reason(why).String(), n)
		}
	}
	if len(w.stage.committed) > 0 {
		w.s.onCommit(w.stage.committed)
	}
}
