package apply

import (
	"bytes"
	"fmt"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

var (
	sqlHead = `SELECT seq, created_at, id, class, expires_at, length(json), ` + column.Sound("events", "events") + ` FROM events
		WHERE kind = ? AND author = ? AND d = ?`
	sqlVictim = `SELECT json, class, pubkey, author, created_at, expires_at, kind, d, ` + column.Sound("events", "events") + ` FROM events WHERE seq = ?`
	// Rot stays rot: the version does not get the sum that would hide it.
	sqlHeadToHistory = `INSERT INTO history(seq, kind, created_at, class, d, readers, expires_at, arrived_at,
		superseded_at, json, sum) SELECT seq, kind, created_at, class, d, keys, expires_at, arrived_at, ?2, json,
			engramd_sum(seq, kind, created_at, class, d, keys, expires_at, arrived_at, json, ?2) + 1 - ` + column.Sound("events", "e") + `
		FROM (SELECT *, ` + record.ReadersInFull + ` AS keys FROM events WHERE seq = ?1) AS e`
)

const (
	sqlNewerInHistory = `SELECT 1 FROM history WHERE kind = ?1 AND pubkey = ?2 AND d = ?3
		AND (created_at > ?4 OR created_at = ?4 AND id < ?5) AND (expires_at IS NULL OR expires_at > ?6) LIMIT 1`
	sqlInsertHistory = `INSERT INTO history(seq, kind, created_at, class, d, readers, expires_at, arrived_at,
		superseded_at, json, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, engramd_sum(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?8))`
	sqlDeleteEvent = `DELETE FROM events WHERE seq = ?`
	sqlDeleteTag   = `DELETE FROM tags WHERE name = ? AND value = ? AND class = ? AND created_at = ? AND seq = ?`
)

// head is the event that holds an address.
type head struct {
	exists  bool
	seq     int64
	created int64
	id      []byte
	class   gate.Class
	size    int64
}

// beats reports whether the head stays when r comes: greater created_at, ties
// by lowest id.
func (h head) beats(r *record.Record) bool {
	if h.created != r.Created {
		return h.created > r.Created
	}
	return bytes.Compare(h.id, r.ID) < 0
}

// head returns the head of the record's address. One that has expired counts as
// gone, as it does for readers, and is removed, so that the outcome does not
// depend on when the sweeper comes by.
func (a *archive) head(r *record.Record) (head, error) {
	who, err := a.Keys.Number(record.Pubkey(r.Pubkey))
	if err != nil || who == 0 {
		return head{}, err
	}
	row, err := a.Conn().One(sqlHead, int64(r.Event.Kind), who, r.D)
	if err != nil || row == nil {
		return head{}, err
	}
	if err := a.needs("events", row.Int(0), row[6]); err != nil {
		return head{}, err
	}
	h := head{
		exists: true, seq: row[0].(int64), created: row[1].(int64), id: row[2].([]byte),
		class: gate.Class(row[3].(int64)), size: row[5].(int64),
	}
	if expires, ok := row[4].(int64); ok && expires <= a.Now {
		return head{}, a.RemoveEvent(h.seq, byExpiry)
	}
	return h, nil
}

// newerInHistory reports whether history holds a version of the address that is
// newer than r. It decides when there is no head: what remains of an address
// whose head was deleted never becomes head again, and so an even older version
// must not either (of one that expired nothing remains but a floor). A version
// newer than all that is known is a new write and may.
func (a *archive) newerInHistory(r *record.Record) (bool, error) {
	if !a.Known.History {
		return false, nil
	}
	return a.Conn().Exists(sqlNewerInHistory, int64(r.Event.Kind), r.Pubkey, r.D, r.Created, r.ID, a.Now)
}

// supersede moves the head out of r's way: into history if its kind is gated,
// else away.
func (a *archive) supersede(h head, r *record.Record) error {
	if h.class == gate.Open || a.Options().Versions < 0 && !record.IsContract(r.Event.Kind) {
		return a.RemoveEvent(h.seq, NoReason)
	}
	if _, err := a.Exec(sqlHeadToHistory, h.seq, a.Now); err != nil {
		return err
	}
	a.Known.History = true
	a.room.take(r)
	if err := a.dropEvent(h.seq, r, false, nil); err != nil {
		return err
	}
	return a.pruneAddress(r)
}

// keepLate stores a version that arrived after a newer one as history, if it is
// contract memory: nothing in the conversation may be lost. Late versions of
// other gated kinds are not kept; whoever sends them has been told that a newer
// one is here.
func (a *archive) keepLate(r *record.Record) error {
	if !record.IsContract(r.Event.Kind) || !record.HasHistory(r) {
		return nil
	}
	return a.keepVersion(r)
}

// keepVersion stores the record as history, whatever else is known of its
// address.
func (a *archive) keepVersion(r *record.Record) error {
	a.Seq++
	_, err := a.Exec(sqlInsertHistory, a.Seq, int64(r.Event.Kind), r.Created, int64(r.Class), r.D,
		column.BytesOrNil(r.Readers), column.TimeOrNil(r.Expires), a.Now, r.JSON)
	if err != nil {
		return err
	}
	if err := a.placeContract(r, a.Seq); err != nil {
		return err
	}
	a.Known.History = true
	a.room.take(r)
	a.Usage.Count(record.Pubkey(r.Pubkey), 1, int64(len(r.JSON)))
	a.Chores.expiresAt(r.Expires)
	return nil
}

// RemoveEvent removes a head or regular event with all that belongs to it. What has
// expired takes the versions before it along, and those that others still have do not
// become head again. Where its author vanishes, that keeps them out.
func (a *archive) RemoveEvent(seq int64, why reason) error {
	var size int64
	var who record.Pubkey
	var before []engine.Value
	leaves := false
	a.seqGone = a.seqGone || why != NoReason // else its successor has a higher number
	err := a.dropEvent(seq, nil, true, func(row engine.Row) {
		size, who = int64(len(row[0].([]byte))), record.Pubkey(row[2].([]byte))
		if at, expires := row[5].(int64); expires && at <= a.Now && row[7] != nil {
			before = []engine.Value{row[6], row[2], row[7], row[4]}
			leaves = gate.Class(row[1].(int64)) != gate.Open && why != byVanish
		}
	})
	if err != nil {
		return err
	}
	a.Usage.Count(who, -1, -size)
	a.count(why, 1)
	if leaves {
		if err := a.RaiseFloor(before[0], before[1], before[2], before[3], []byte(floorOfExpired)); err != nil {
			return err
		}
	}
	if before != nil && a.Known.History {
		_, err = a.RemoveHistory(byExpiry, sqlAddressHistory, before...)
	}
	return err
}

// dropEvent deletes a row of events, its tag rows and its place in the
// full-text index; when it is gone for good, that in its thread too. successor,
// if any, is about to be stored by the same author. seen gets the row before.
func (a *archive) dropEvent(seq int64, successor *record.Record, gone bool, seen func(row engine.Row)) error {
	row, err := a.Conn().One(sqlVictim, seq)
	if err != nil {
		return err
	}
	if row == nil {
		return fmt.Errorf("event %d is not there", seq)
	}
	if bad, err := a.rotten("events", seq, row[8]); err != nil {
		return err
	} else if bad {
		if err := a.Settle("events", seq); err != nil {
			return err
		}
		if row, err = a.Conn().One(sqlVictim, seq); err != nil {
			return err
		}
	}
	if seen != nil {
		seen(row)
	}
	ev, err := column.Event(row[0].([]byte))
	if err != nil {
		return fmt.Errorf("event %d: %w", seq, err)
	}
	a.Text.Leave(seq, gate.Class(row[1].(int64)), ev)
	if _, err := a.Exec(sqlDeleteEvent, seq); err != nil {
		return err
	}
	tags := record.Tags(ev.Tags, record.StoredClass(row[1]))
	a.Extra += len(row[0].([]byte)) + record.RowCost*len(tags)
	for _, t := range tags {
		if err := a.dropTag(&t, row[1], row[4], seq, successor); err != nil {
			return err
		}
	}
	if gone {
		if err := a.Others.Contracts.Removed(ev.Kind, seq); err != nil {
			return err
		}
	}
	if successor != nil {
		return nil
	}
	return a.Keys.Loosen(row[3].(int64))
}

// dropTag takes one row out of the tag index.
func (a *archive) dropTag(t *record.Tag, class, created engine.Value, seq int64, successor *record.Record) error {
	k, numbered := t.NumberedKey()
	if !numbered {
		return a.Do(sqlDeleteTag, t.Name, t.Value, class, created, seq)
	}
	num, err := a.Keys.Number(k)
	if err != nil {
		return err
	}
	if _, err := a.Exec(sqlDeleteTag, t.Name, num, class, created, seq); err != nil || num == 0 || successor.Names(k) {
		return err
	}
	return a.Keys.Loosen(num)
}

// placeContract has what is stored of contract memory under seq, as an event or
// in history, placed in its thread.
func (a *archive) placeContract(r *record.Record, seq int64) error {
	if !record.IsContract(r.Event.Kind) {
		return nil
	}
	return a.Others.Contracts.Stored(r.Event, r.Class, seq)
}
