package query

import (
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/engine"
)

// Source is the table that rows are read from, always under the alias e.
type Source int

// The tables that rows are read from.
const (
	FromEvents Source = iota
	FromHistory
)

// shape is what stretches of one index have in common: FROM, the conditions
// that select a stretch, and which conditions of the filter these leave over.
type shape struct {
	source  Source
	from    string
	lead    string // conditions on the index; their arguments are the span's
	at      string // "e" or "t": whose created_at, seq and kind are at hand
	ordered bool   // the rows of a stretch come newest first
	repeats bool   // a row may come more than once in one stretch

	ids, kinds, authors bool         // these conditions of the filter are to be checked row by row
	skipTag             string       // the tag condition that the stretch implies
	d                   dWay         // what it implies for the scope
	classes             []gate.Class // only these count; nil all
}

// span is one stretch of an index.
type span struct {
	*shape
	args []engine.Value
}
