package events

import "engramd/internal/relay/store"

// stage is what the current transaction will mean outside the database once it
// is durable, beside what the engine keeps of it. A member that is undone takes
// its part with it.
type stage struct {
	committed []store.Committed
	removed   [numReasons]int
	seqGone   bool         // something with a sequence number went
	done      []store.Done // what was executed of commands with a place, refused ones too

	before int64 // the last sequence number, when the transaction began
	marked mark
}

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
