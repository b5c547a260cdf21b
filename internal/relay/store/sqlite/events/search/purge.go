package search

import (
	"time"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/engine"
)

// A text leaves the index in one to four milliseconds. purgeChunk of them are
// taken out at a time when nobody waits, and one after each batch when somebody
// does; when the store closes, or somebody needs the room, as many as purgeTime
// allows.
const (
	PurgeChunk = 8
	purgeTime  = time.Second
)

// Purge takes out the next texts and reports whether it did anything.
func (f *Index) Purge() bool {
	if !f.Purging {
		return false
	}
	limit := PurgeChunk
	if f.Waiting() > 0 {
		limit = 1
	}
	more, err := f.Step(func() (bool, error) { return f.PurgeStep(limit) })
	switch {
	case err == nil:
		f.Purging = more
	case engine.OutOfRoom(err):
		f.Purging = false // until something else is taken out, or the next start
	default:
		if _, err = f.Step(func() (bool, error) { return false, f.searchFailed(err) }); err != nil {
			f.Purging = false
		}
	}
	return err == nil
}

// PurgeStep takes up to limit texts out of the full-text index and reports
// whether there may be more.
func (f *Index) PurgeStep(limit int) (more bool, err error) {
	n := 0
	err = f.Conn().Each(sqlGone, []engine.Value{int64(limit)}, func(row []engine.Value) error {
		n++
		// First this, so that a full database has room for what the index
		// writes.
		if _, err := f.Exec(sqlWasPurged, row[0]); err != nil {
			return err
		}
		remove := StatementsOf(Table(gate.Class(row[1].(int64)))).remove
		_, err := f.Exec(remove, row[0], row[2])
		return err
	})
	return n == limit, err
}

// PurgeNow takes out what it can in purgeTime.
func (f *Index) PurgeNow() {
	for end := time.Now().Add(purgeTime); f.Purging && time.Now().Before(end); {
		if !f.Purge() {
			return
		}
	}
}
