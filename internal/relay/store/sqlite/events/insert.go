package events

import (
	"bytes"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
)

const (
	sqlInsertEvent = `INSERT INTO events(seq, kind, created_at, class, d, readers, expires_at, arrived_at, json, author)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlInsertTag   = `INSERT INTO tags(name, value, created_at, seq, kind) VALUES (?, ?, ?, ?, ?)`
	sqlHaveEvent   = `SELECT seq FROM events WHERE id = ?`
	sqlHaveHistory = `SELECT 1 FROM history WHERE id = ?`
)

// misses reports whether a write was made for another head than the one that is
// there, or would not become the head.
func (a *archive) misses(r *record, base *[32]byte) (bool, error) {
	if base == nil {
		return false, nil
	}
	if r.d == nil {
		return true, nil
	}
	head, err := a.head(r)
	if err != nil {
		return false, err
	}
	if head.exists {
		return !bytes.Equal(head.id, base[:]) || head.beats(r), nil
	}
	if *base != [32]byte{} {
		return true, nil
	}
	return a.newerInHistory(r)
}

// have reports whether this very event is here, as head, regular event or
// history, and its seq if it is not history.
func (a *archive) have(r *record) (seq int64, have bool, err error) {
	a.args = append(a.args[:0], r.id)
	row, err := a.c.One(sqlHaveEvent, a.args...)
	if err == nil && row != nil {
		return row[0].(int64), true, nil
	}
	if err != nil || !a.known.history || r.d == nil {
		return 0, false, err
	}
	have, err = a.c.Exists(sqlHaveHistory, r.id)
	return 0, have, err
}

// said is the answer to an entry that does not become head, because its author's
// last one is of the same second or newer: it is in its thread as any other, and
// live readers get it.
func (a *archive) said(r *record) store.Result {
	a.committed(r, a.seq)
	return store.Result{Outcome: store.Stored, Seq: a.seq}
}

// committed has an event sent to live readers after the commit.
func (a *archive) committed(r *record, seq int64) {
	c := store.Committed{Event: r.ev, JSON: r.json, Seq: seq, Class: r.class}
	if a.current != nil {
		c.Who = a.current.who()
	}
	a.stage.committed = append(a.stage.committed, c)
}

// place stores the record as what it is: regular event, head, or late version.
func (a *archive) place(r *record) (store.Result, error) {
	if r.d == nil {
		return a.insert(r)
	}
	head, err := a.head(r)
	if err != nil {
		return store.Result{}, err
	}
	if head.exists && head.beats(r) {
		return store.Result{Outcome: store.Stale, Why: store.WhyStale}, a.keepLate(r)
	}
	if !head.exists {
		newer, err := a.newerInHistory(r)
		if err != nil {
			return store.Result{}, err
		}
		if newer {
			return store.Result{Outcome: store.Stale, Why: store.WhyStale}, a.keepLate(r)
		}
		removed, err := a.belowFloor(r)
		if err != nil {
			return store.Result{}, err
		}
		if removed {
			return store.Result{Outcome: store.Stale, Why: store.WhyRemoved}, a.keepLate(r)
		}
		return a.insert(r)
	}
	if err := a.supersede(head, r); err != nil {
		return store.Result{}, err
	}
	result, err := a.insert(r)
	result.Outcome = store.Replaced
	return result, err
}

// insert makes the record a head or regular event.
func (a *archive) insert(r *record) (store.Result, error) {
	a.seq++
	seq := a.seq
	who, err := a.giveAuthor(author(r.pubkey))
	if err != nil {
		return store.Result{}, err
	}
	readers, err := a.giveReaders(r.readers)
	if err != nil {
		return store.Result{}, err
	}
	a.args = append(a.args[:0], seq, int64(r.ev.Kind), r.created, int64(r.class), r.d,
		readers, column.TimeOrNil(r.expires), a.Now, r.json, who)
	if _, err = a.Exec(sqlInsertEvent, a.args...); err != nil {
		return store.Result{}, err
	}
	for i := range r.tags {
		if err := a.insertTag(r, &r.tags[i], seq); err != nil {
			return store.Result{}, err
		}
	}
	if err := a.placeContract(r, seq); err != nil {
		return store.Result{}, err
	}
	a.index(seq, r.class, r.ev)
	a.count(author(r.pubkey), 1, int64(len(r.json)))
	a.expiresAt(r.expires)
	a.committed(r, seq)
	return store.Result{Outcome: store.Stored, Seq: seq}, nil
}

// insertTag enters one row into the tag index.
func (a *archive) insertTag(r *record, t *tagRow, seq int64) error {
	value := t.value
	if k, ok := t.numberedKey(); ok {
		num, err := a.giveNumber(k)
		if err != nil {
			return err
		}
		value = num
	}
	a.args = append(a.args[:0], t.name, value, r.created, seq, int64(r.ev.Kind))
	_, err := a.Exec(sqlInsertTag, a.args...)
	return err
}
