package apply

import (
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/ledger"
)

// Stage is what the current transaction will mean outside the database once it
// is durable, beside what the engine keeps of it. A member that is undone takes
// its part with it.
type Stage struct {
	Seq       int64         // the last sequence number given out
	parts     []ledger.Part // what remembers beside the tables
	committed []store.Committed
	removed   [numReasons]int
	seqGone   bool         // something with a sequence number went
	Done      []store.Done // what was executed of commands with a place, refused ones too

	before int64 // seq, when the transaction began
	marked mark
}

// mark is where a member began.
type mark struct {
	committed int
	removed   [numReasons]int
	seq       int64
}

// Begin starts a new transaction's stage. What was handed to OnCommit is not
// reused.
func (s *Stage) Begin() {
	*s = Stage{Seq: s.Seq, parts: s.parts, before: s.Seq}
	for _, p := range s.parts {
		p.Begin()
	}
}

// Mark notes where a member begins.
func (s *Stage) Mark() {
	s.marked = mark{len(s.committed), s.removed, s.Seq}
	for _, p := range s.parts {
		p.Mark()
	}
}

// Undo forgets what was staged since the mark, and gives its sequence numbers
// back.
func (s *Stage) Undo() {
	m := &s.marked
	s.committed, s.removed, s.Seq = s.committed[:m.committed], m.removed, m.seq
	for _, p := range s.parts {
		p.Undo()
	}
}

// RolledBack forgets what a transaction would have meant.
func (s *Stage) RolledBack() {
	*s = Stage{Seq: s.before, parts: s.parts}
	for _, p := range s.parts {
		p.RolledBack()
	}
}

// End writes what the transaction has collected.
func (s *Stage) End(setMeta func(name string, value engine.Value) error) error {
	for _, p := range s.parts {
		if err := p.End(); err != nil {
			return err
		}
	}
	if !s.seqGone {
		return nil
	}
	return setMeta(metaLastSeq, s.Seq)
}

// metaLastSeq is the last sequence number that was given out, in the table meta,
// as of the last time that something with one went: the last one is this or the
// highest in use.
const metaLastSeq = "last_seq"

// Announce counts what was removed, and sends what was stored to live readers.
func (s *Stage) Announce(observe store.Observer, onCommit func([]store.Committed)) {
	for why, n := range s.removed {
		if n > 0 {
			observe.Removed(reason(why).String(), n)
		}
	}
	if len(s.committed) > 0 {
		onCommit(s.committed)
	}
}

// Executed notes what was executed in the transaction.
func (s *Stage) Executed(place store.LogPlace, outcome store.Outcome, sum [32]byte) {
	s.Done = append(s.Done, store.Done{Place: place, Outcome: outcome, Digest: sum})
}

// count counts rows that went for good.
func (s *Stage) count(why reason, n int) {
	if why >= 0 {
		s.removed[why] += n
	}
}

// reason says why rows were removed; its String is a metric label.
type reason int

const (
	NoReason    reason = iota - 1 // not counted: an open kind's old version, which was replaced
	byDeletion                    // NIP-09
	byVanish                      // NIP-62
	byExpiry                      // NIP-40
	byPruning                     // superseded versions beyond the limits of history
	byBan                         // by the operator (NIP-86)
	ByOperator                    // by a filter of the operator
	ByRetention                   // by retention.rules
	numReasons
)

// String is the metric label.
func (r reason) String() string {
	return [numReasons]string{"deletion", "vanish", "expiry", "history", "ban", "operator", "retention"}[r]
}
