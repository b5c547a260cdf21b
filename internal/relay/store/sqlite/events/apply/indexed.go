package apply

import (
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Indexes are compared with their table row by row: SQLite's own check reads all
// of them at once, and holds what is written meanwhile.

const (
	byKey      = `FROM events AS o JOIN events AS e INDEXED BY `
	sqlIndexes = `SELECT EXISTS (SELECT 1 FROM events INDEXED BY events_id WHERE id = ?2 AND seq = ?1)
		AND (SELECT num FROM pubkeys WHERE key = ?4) IS (SELECT author FROM events WHERE seq = ?1)
		AND EXISTS (SELECT 1 ` + byKey + `events_author ON e.author = o.author AND e.class = o.class AND e.reader = o.reader AND e.kind = o.kind AND e.created_at = o.created_at
			AND e.expires_at IS o.expires_at AND e.seq = ?1 WHERE o.seq = ?1)
		AND EXISTS (SELECT 1 ` + byKey + `events_kind ON e.kind = o.kind AND e.class = o.class AND e.created_at = o.created_at
			AND e.expires_at IS o.expires_at AND e.seq = ?1 WHERE o.seq = ?1)
		AND (?3 IS NULL OR EXISTS (SELECT 1 ` + byKey + `events_address ON e.kind = o.kind AND e.author = o.author AND e.d = ?3 AND e.d IS NOT NULL
			AND e.class = o.class AND e.reader = o.reader AND e.seq = ?1 WHERE o.seq = ?1))
		AND EXISTS (SELECT 1 FROM events AS o WHERE o.seq = ?1 AND (o.class <> 0
			OR EXISTS (SELECT 1 FROM events AS e INDEXED BY events_time WHERE e.class = 0 AND e.created_at = o.created_at AND e.seq = ?1)))`
	sqlOldIndexes = `SELECT EXISTS (SELECT 1 FROM history INDEXED BY history_id WHERE id = ?2 AND seq = ?1)
		AND EXISTS (SELECT 1 FROM history INDEXED BY history_author WHERE pubkey = ?4 AND kind = ?5 AND class = ?7 AND reader = ?8 AND created_at = ?6 AND seq = ?1)
		AND EXISTS (SELECT 1 FROM history INDEXED BY history_address WHERE kind = ?5 AND pubkey = ?4 AND d = ?3 AND created_at = ?6 AND seq = ?1)`
	sqlTagRow = `SELECT 1 FROM tags WHERE name = ? AND class = ? AND created_at = ? AND seq = ? AND value = `
)

// Indexed reports whether every index has a sound row.
func Indexed(c *engine.Conn, table string, seq int64, r *record.Record) (bool, error) {
	text, args := sqlIndexes, []engine.Value{seq, r.ID, r.D, r.Pubkey}
	if table == "history" {
		text, args = sqlOldIndexes, append(args, int64(r.Event.Kind), r.Created, int64(r.Class), record.VersionReader(r.Readers))
	}
	row, err := c.One(text, args...)
	if err != nil || row == nil || row.Int(0) != 1 || table == "history" {
		return err == nil && row != nil && row.Int(0) == 1, err
	}
	for _, t := range r.Tags {
		value := "?"
		if _, numbered := t.NumberedKey(); numbered {
			value = record.NumOf
		}
		if has, err := c.Exists(sqlTagRow+value, t.Name, int64(r.Class), r.Created, seq, t.Value); err != nil || !has {
			return false, err
		}
	}
	return true, nil
}

// Reindex writes what indexes have of a sound row again. What they had instead
// stays, and names a row whose columns say otherwise.
func (h *healing) Reindex(table string, seq int64, r *record.Record) error {
	if table == "history" {
		return h.inPlace("UPDATE history SET kind = kind, created_at = created_at, class = class, readers = readers, d = d, json = json WHERE seq = ?", seq)
	}
	// The row is sound, so that its author has this number.
	if err := h.inPlace("UPDATE OR IGNORE pubkeys SET key = ?1 WHERE num = (SELECT author FROM events WHERE seq = ?2) AND key <> ?1", r.Pubkey, seq); err != nil {
		return err
	}
	err := h.inPlace("UPDATE events SET kind = kind, created_at = created_at, class = class, readers = readers, d = d, expires_at = expires_at, json = json, author = author WHERE seq = ?", seq)
	for i := range r.Tags {
		t := &r.Tags[i]
		value := t.Value
		if k, numbered := t.NumberedKey(); numbered && err == nil {
			value, err = h.keys.Give(k)
		}
		if err == nil {
			_, err = h.tx.Exec(`INSERT OR IGNORE INTO tags(name, value, class, created_at, seq, kind) VALUES (?, ?, ?, ?, ?, ?)`, t.Name, value, int64(r.Class), r.Created, seq, int64(r.Event.Kind))
		}
	}
	return err
}
