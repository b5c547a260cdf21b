package store

import "database/sql/driver"

const (
	sqlInsertEvent = `INSERT INTO events(seq, id, pubkey, kind, created_at, class, d, readers, expires_at, arrived_at, json)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlInsertTag = `INSERT OR IGNORE INTO tags(name, value, created_at, seq, kind) VALUES (?, ?, ?, ?, ?)`
	sqlHead      = `SELECT seq, created_at, id FROM events WHERE kind = ? AND pubkey = ? AND d = ?`
	sqlHaveEvent = `SELECT 1 FROM events WHERE id = ?`
)

// apply decides what becomes of one event and does it.
func (w *writer) apply(p *Pending) (Result, error) {
	r := p.rec
	have, err := w.c.exists(sqlHaveEvent, r.id)
	if err != nil {
		return Result{}, err
	}
	if have {
		return Result{Outcome: Duplicate, Message: MsgDuplicate}, nil
	}
	return w.insert(r)
}

// insert makes the record a head or regular event.
func (w *writer) insert(r *record) (Result, error) {
	w.seq++
	seq := w.seq
	_, err := w.c.exec(sqlInsertEvent, seq, r.id, r.pubkey, int64(r.ev.Kind), r.created, int64(r.class), r.d,
		bytesOrNil(r.readers), timeOrNil(r.expires), w.s.clock().Unix(), r.json)
	if err != nil {
		return Result{}, err
	}
	for _, t := range r.tags {
		var value driver.Value = t.value
		if _, err := w.c.exec(sqlInsertTag, t.name, value, r.created, seq, int64(r.ev.Kind)); err != nil {
			return Result{}, err
		}
	}
	w.batch = append(w.batch, Committed{Event: r.ev, JSON: r.json, Seq: seq, Class: r.class})
	return Result{Outcome: Stored, Seq: seq}, nil
}
