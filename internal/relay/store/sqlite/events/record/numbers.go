package record

import (
	"fmt"
	"time"

	"engramd/internal/relay/store/sqlite/engine"
)

// ReadersInFull is the column readers of events as history has it.
const ReadersInFull = `CASE typeof(readers) WHEN 'integer' THEN (SELECT key FROM pubkeys WHERE num = readers) ELSE readers END`

// SecondsPerDay is a day of what limits count in days.
const SecondsPerDay = int64(24 * time.Hour / time.Second)

// sqlLastSeq counts what waits to leave the full-text index too: its number
// there must not be given out again.
const sqlLastSeq = `SELECT max(coalesce((SELECT max(seq) FROM events), 0), coalesce((SELECT max(seq) FROM history), 0),
	coalesce((SELECT max(seq) FROM search_gone), 0), coalesce((SELECT value FROM meta WHERE key = 'last_seq'), 0))`

// LastSeq reads the highest sequence number there is.
func LastSeq(c *engine.Conn) (int64, error) {
	n, err := c.Number(sqlLastSeq)
	if err != nil {
		return 0, fmt.Errorf("read last sequence number: %w", err)
	}
	return n, nil
}

// NumOf is the number of one key, for the conditions of other statements;
// the + keeps the column's affinity from them, under which SQLite would
// take the TEXT '5' of a p tag for the number 5.
const NumOf = `(SELECT +num FROM pubkeys WHERE key=?)`
