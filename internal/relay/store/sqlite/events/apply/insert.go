package apply

import (
	"bytes"
	"errors"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/events/record"
)

const (
	sqlInsertEvent = `INSERT INTO events(seq, kind, created_at, class, d, readers, expires_at, arrived_at, json, author, sum)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, engramd_sum(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10))`
	sqlInsertTag = `INSERT INTO tags(name, value, class, created_at, seq, kind) VALUES (?, ?, ?, ?, ?, ?)`
)

var (
	sqlHaveEvent   = `SELECT seq, ` + column.Sound("events", "events") + ` FROM events WHERE id = ?`
	sqlHaveHistory = `SELECT seq, ` + column.Sound("history", "history") + ` FROM history WHERE id = ?`
)

// misses reports whether a write was made for another head than the one that is
// there, or would not become the head.
func (a *archive) misses(r *record.Record, base *[32]byte) (bool, error) {
	if base == nil {
		return false, nil
	}
	if r.D == nil {
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
// history, and its seq if it is not history. A row of it that is rotten is healed
// by it.
func (a *archive) have(r *record.Record) (seq int64, have bool, err error) {
	a.Args = append(a.Args[:0], r.ID)
	row, err := a.Conn().One(sqlHaveEvent, a.Args...)
	if err == nil && row != nil {
		return row.Int(0), true, a.healed(r, "events", row)
	}
	if err != nil || !a.Known.History || r.D == nil {
		return 0, false, err
	}
	if row, err = a.Conn().One(sqlHaveHistory, r.ID); err != nil || row == nil {
		return 0, false, err
	}
	if err = a.healed(r, "history", row); err != nil {
		return 0, false, err
	}
	switch _, err = a.head(r); { // one that has expired takes it along
	case err == nil:
		have, err = a.Conn().Exists(sqlHaveHistory, r.ID)
	case errors.Is(err, store.ErrDamaged) && !a.Placed: // which cannot be told of a rotten one, and it is here
		return 0, true, nil
	}
	return 0, have, err
}

// said is the answer to an entry that does not become head, because its author's
// last one is of the same second or newer: it is in its thread as any other, and
// live readers get it.
func (a *archive) said(r *record.Record) store.Result {
	a.send(r, a.Seq)
	return store.Result{Outcome: store.Stored, Seq: a.Seq}
}

// send has an event sent to live readers after the commit.
func (a *archive) send(r *record.Record, seq int64) {
	c := store.Committed{Event: r.Event, JSON: r.JSON, Seq: seq, Class: r.Class}
	if a.current != nil {
		c.Who = a.current.who()
	}
	a.committed = append(a.committed, c)
}

// place stores the record as what it is: regular event, head, or late version.
func (a *archive) place(r *record.Record) (store.Result, error) {
	if r.D == nil {
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
		why, err := a.belowFloor(r)
		if err != nil {
			return store.Result{}, err
		}
		if why != nil {
			return store.Result{Outcome: store.Stale, Why: why}, a.keepLate(r)
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
func (a *archive) insert(r *record.Record) (store.Result, error) {
	a.Seq++
	seq := a.Seq
	who, err := a.Keys.GiveAuthor(record.Pubkey(r.Pubkey))
	if err != nil {
		return store.Result{}, err
	}
	readers, err := a.Keys.GiveReaders(r.Readers)
	if err != nil {
		return store.Result{}, err
	}
	a.Args = append(a.Args[:0], seq, int64(r.Event.Kind), r.Created, int64(r.Class), r.D,
		readers, column.TimeOrNil(r.Expires), a.Now, r.JSON, who)
	if _, err = a.Exec(sqlInsertEvent, a.Args...); err != nil {
		return store.Result{}, err
	}
	for i := range r.Tags {
		if err := a.insertTag(r, &r.Tags[i], seq); err != nil {
			return store.Result{}, err
		}
	}
	if err := a.placeContract(r, seq); err != nil {
		return store.Result{}, err
	}
	a.Text.Enter(seq, r.Class, r.Event)
	a.Usage.Count(record.Pubkey(r.Pubkey), 1, int64(len(r.JSON)))
	a.Chores.expiresAt(r.Expires)
	a.send(r, seq)
	return store.Result{Outcome: store.Stored, Seq: seq}, nil
}

// insertTag enters one row into the tag index.
func (a *archive) insertTag(r *record.Record, t *record.Tag, seq int64) error {
	value := t.Value
	if k, ok := t.NumberedKey(); ok {
		num, err := a.Keys.Give(k)
		if err != nil {
			return err
		}
		value = num
	}
	a.Args = append(a.Args[:0], t.Name, value, int64(r.Class), r.Created, seq, int64(r.Event.Kind))
	return a.Do(sqlInsertTag, a.Args...)
}
