package events

import "engramd/internal/store"

// stage is what the current transaction will mean outside the database once it
// is durable, beside what the engine keeps of it. A member that is undone takes
// its part with it.
type stage struct {
	committed []store.Committed
	removed   [numReasons]int
	seqGone   bool // something with a sequence number went

	before int64 // the last sequence number, when the transaction began
	marked mark
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

// mark is where a member began.
type mark struct {
	committed int
	removed   [numReasons]int
	seq       int64
}

// Begin starts a new transaction's stage. What was handed to OnCommit is not
// reused.
func (w *writer) Begin() {
	w.stage = stage{before: w.seq}
	for _, p := range w.parts {
		p.begin()
	}
}

// Mark notes where a member begins.
func (w *writer) Mark() {
	s := &w.stage
	s.marked = mark{len(s.committed), s.removed, w.seq}
	for _, p := range w.parts {
		p.mark()
	}
}

// Undo forgets what was staged since the mark, and gives its sequence numbers
// back.
func (w *writer) Undo() {
	s, m := &w.stage, &w.stage.marked
	s.committed, s.removed, w.seq = s.committed[:m.committed], m.removed, m.seq
	for _, p := range w.parts {
		p.undo()
	}
}

// RolledBack forgets what a transaction would have meant.
func (w *writer) RolledBack() {
	w.seq = w.stage.before
	w.stage = stage{}
	for _, p := range w.parts {
		p.rolledBack()
	}
}

// End writes what a transaction has collected, at its end.
func (w *writer) End() error {
	for _, p := range w.parts {
		if err := p.end(); err != nil {
			return err
		}
	}
	if !w.stage.seqGone {
		return nil
	}
	return w.SetMeta(metaLastSeq, w.seq)
}

// metaLastSeq is the last sequence number that was given out, in the table meta,
// as of the last time that something with one went: the last one is this or the
// highest in use.
const metaLastSeq = "last_seq"

// Durable has readers see up to the last number.
func (w *writer) Durable() {
	for _, p := range w.parts {
		p.durable()
	}
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
