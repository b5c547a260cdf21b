package column

import (
	"strings"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store/sqlite/engine"
)

// The columns that a row's sum is over, in its order.
var (
	eventColumns   = []string{"seq", "kind", "created_at", "class", "d", "readers", "expires_at", "arrived_at", "json", "author"}
	versionColumns = []string{"seq", "kind", "created_at", "class", "d", "readers", "expires_at", "arrived_at", "json", "superseded_at"}
)

// summed are those of a table.
func summed(table string) []string {
	if table == "history" {
		return versionColumns
	}
	return eventColumns
}

// SumOf is the sum that a row of a table, events or history, should have. at is
// the table's name in the statement, or its alias.
func SumOf(table, at string) string {
	return "engramd_sum(" + at + "." + strings.Join(summed(table), ","+at+".") + ")"
}

// Lives is the condition that a row has not expired at ?, or seems to because it
// is rotten: then whoever reads it finds out.
func Lives(table, at string) string {
	return "(" + at + ".expires_at IS NULL OR " + at + ".expires_at>? OR " + at + ".sum<>" + SumOf(table, at) + ")"
}

// Sound is a column of a row: 1 where it is as it was written, 0 where it is
// rotten, NULL where it has no sum yet.
func Sound(table, at string) string { return "(" + at + ".sum=" + SumOf(table, at) + ")" }

// Trusted reports whether stored JSON may be used: by what Sound selected of its
// row, or, where that has no sum, by its own id.
func Trusted(sound engine.Value, json []byte) bool {
	if sound != nil {
		return sound == engine.Value(int64(1))
	}
	ev, err := Event(json)
	return err == nil && wire.ID(ev) == ev.ID
}
