package events

import (
	"time"

	"engramd/internal/gate"
	"engramd/internal/store/sqlite/engine"
)

const (
	sqlSearchGone = `INSERT INTO search_gone(seq, class, text) VALUES (?, ?, ?)`
	sqlGone       = `SELECT seq, class, text FROM search_gone ORDER BY seq LIMIT ?`
	sqlAnyGone    = `SELECT 1 FROM search_gone LIMIT 1`
	sqlWasPurged  = `DELETE FROM search_gone WHERE seq = ?`
	sqlForgetGone = `DELETE FROM search_gone`
)

// A text leaves the index in one to four milliseconds. purgeChunk of them are
// taken out at a time when nobody waits, and one after each batch when somebody
// does; when the store closes, or somebody needs the room, as many as purgeTime
// allows.
const (
	purgeChunk = 8
	purgeTime  = time.Second
)

// purge takes out the next texts and reports whether it did anything.
func (w *writer) purge() bool {
	if !w.purging {
		return false
	}
	limit := purgeChunk
	if w.s.db.QueueLen() > 0 {
		limit = 1
	}
	more, err := w.Step(func() (bool, error) { return w.purgeStep(limit) })
	switch {
	case err == nil:
		w.purging = more
	case engine.OutOfRoom(err):
		w.purging = false // until something else is taken out, or the next start
	default:
		if _, err = w.Step(func() (bool, error) { return false, w.searchFailed(err) }); err != nil {
			w.purging = false
		}
	}
	return err == nil
}

// purgeStep takes up to limit texts out of the full-text index and reports
// whether there may be more.
func (w *writer) purgeStep(limit int) (more bool, err error) {
	n := 0
	err = w.c.Each(sqlGone, []engine.Value{int64(limit)}, func(row []engine.Value) error {
		n++
		// First this, so that a full database has room for what the index
		// writes.
		if _, err := w.Exec(sqlWasPurged, row[0]); err != nil {
			return err
		}
		remove := indexStatements(searchTable(gate.Class(row[1].(int64)))).remove
		_, err := w.Exec(remove, row[0], row[2])
		return err
	})
	return n == limit, err
}

// purgeNow takes out what it can in purgeTime.
func (w *writer) purgeNow() {
	for end := time.Now().Add(purgeTime); w.purging && time.Now().Before(end); {
		if !w.purge() {
			return
		}
	}
}
