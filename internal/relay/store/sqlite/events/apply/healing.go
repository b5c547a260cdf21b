package apply

import (
	"fmt"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/ledger"
	"engramd/internal/relay/store/sqlite/events/record"
	"engramd/internal/relay/store/sqlite/events/rot"
	"engramd/internal/relay/store/sqlite/events/search"
)

// healing is about rows that are not as they were written.
type healing struct {
	tx      *ledger.Tx
	keys    *ledger.PubkeyIDs
	Rot     *rot.Known
	Classes *gate.Table // by which events are classed
	Placed  bool        // each command has a place in the order, which is noted
}

// A rotten row is healed in its place by the event that it was: what other tables
// and indexes say of it was written when it was sound, and holds again. No
// outcome depends on it, so that one of several stores may heal alone.

// rotten reports whether a row is rotten. sound is what column.Sound selected of
// it: a row without a sum is judged by its JSON.
func (h *healing) rotten(table string, seq int64, sound engine.Value) (bool, error) {
	if sound == engine.Value(int64(1)) {
		return false, nil
	}
	if h.Rot.Has(table, seq) { // of a row without a sum the signature may be known to be wrong
		return true, nil
	}
	row, err := rot.Look(h.tx.Conn(), h.Classes, table, seq)
	if err != nil || row == nil || !row.Rotten {
		return false, err
	}
	h.Rot.Note(h.tx.Conn(), row)
	return true, nil
}

// needs fails where a decision would rest on a rotten row. One of several stores
// halts at it.
func (h *healing) needs(table string, seq int64, sound engine.Value) error {
	bad, err := h.rotten(table, seq, sound)
	if err == nil && bad {
		err = fmt.Errorf("%s %d: %w", table, seq, column.ErrDamaged)
	}
	return err
}

// healed heals a row of the event if it is rotten.
func (h *healing) healed(r *record.Record, table string, row engine.Row) error {
	bad, err := h.rotten(table, row.Int(0), row[1])
	if err == nil && bad {
		err = h.heal(r, table, row.Int(0))
	}
	return err
}

// heal makes a row that is rotten what it was: the event that came again, under
// what the relay knew of it besides, as far as that is left.
func (h *healing) heal(r *record.Record, table string, seq int64) error {
	extra, keys := "author", `readers`
	if table == "history" {
		extra = "superseded_at"
	}
	old, err := h.tx.Conn().One("SELECT class, arrived_at, "+extra+", sum FROM "+table+" WHERE seq = ?", seq)
	if err != nil || old == nil {
		return err
	}
	arrived := min(max(old.Int(1), 1), h.tx.Now)
	last := engine.Value(min(max(old.Int(2), arrived), h.tx.Now))
	whole := *r
	values := func(class gate.Class) ([]engine.Value, error) {
		whole.SetClass(class)
		readers := column.BytesOrNil(whole.Readers)
		if table == "events" {
			if readers, err = h.keys.GiveReaders(whole.Readers); err != nil {
				return nil, err
			}
			if last, err = h.keys.GiveAuthor(record.Pubkey(r.Pubkey)); err != nil {
				return nil, err
			}
		}
		return []engine.Value{seq, int64(r.Event.Kind), r.Created, int64(class), r.D, readers, column.TimeOrNil(r.Expires), arrived, r.JSON, last}, nil
	}
	// A deletion request has the class of a verdict. The sum tells which, and if
	// it is the sum that is rotten, the one that shows it to fewer.
	verdict := h.Classes.Reclassify(r.Event, gate.Deletion)
	for _, class := range []gate.Class{h.Classes.Reclassify(r.Event, gate.Open), h.Classes.Reclassify(r.Event, gate.Ruled)} {
		args, err := values(class)
		if err != nil {
			return err
		}
		was, err := h.tx.Conn().Exists("SELECT 1 WHERE engramd_sum(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10) = ?11", append(args, old[3])...)
		if err != nil {
			return err
		}
		if was {
			verdict = class
			break
		}
	}
	args, err := values(verdict)
	if err != nil {
		return err
	}
	err = h.inPlace("UPDATE "+table+" SET kind = ?2, created_at = ?3, class = ?4, d = ?5, "+keys+" = ?6, expires_at = ?7, arrived_at = ?8, json = ?9, "+
		extra+" = ?10, sum = engramd_sum(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10) WHERE seq = ?1", args...)
	if err == nil {
		h.tx.After(func() {
			h.Rot.Gone(table, seq)
			h.tx.Logger.Info("a damaged event was healed by the same event", "table", table, "row", seq)
		})
	}
	return err
}

// inPlace changes a rotten row. What it says of itself its entries in indexes do
// not say, and SQLite refuses to change a row whose entries it does not find,
// unless the schema may be written.
func (h *healing) inPlace(text string, args ...engine.Value) error {
	if err := h.tx.Conn().Script("PRAGMA writable_schema=ON"); err != nil {
		return err
	}
	err := h.tx.Do(text, args...)
	if off := h.tx.Conn().Script("PRAGMA writable_schema=OFF"); err == nil {
		err = off
	}
	return err
}

const (
	sqlIndexedEvent = `SELECT author, kind, created_at, class, expires_at, nullif(reader, 0) FROM events INDEXED BY events_author WHERE author NOT NULL AND +seq = ?`
	sqlIndexedD     = `SELECT d FROM events INDEXED BY events_address WHERE d IS NOT NULL AND kind NOT NULL AND +seq = ?`
	sqlIndexedOld   = `SELECT pubkey, kind, d, created_at FROM history INDEXED BY history_address WHERE kind NOT NULL AND +seq = ?`
	sqlIndexedWhom  = `SELECT class, reader FROM history INDEXED BY history_author WHERE pubkey NOT NULL AND +seq = ?`
	sqlKeysNamed    = `SELECT DISTINCT value FROM tags WHERE seq = ? AND name = 'p' AND typeof(value) = 'integer'`
)

// Settle makes a rotten row removable: with the columns that indexes have of it,
// and a stand-in for its JSON, as long as that was. It reads whole indexes, for
// nothing else says where a rotten row has its entries. A sound row stays as it
// is. One of several stores would have to know what the row was, and fails.
func (h *healing) Settle(table string, seq int64) error {
	state, err := h.tx.Conn().One("SELECT "+column.Sound(table, table)+", length(json), class FROM "+table+" WHERE seq = ?", seq)
	if err != nil || state == nil {
		return err
	}
	if bad, err := h.rotten(table, seq, state[0]); err != nil || !bad {
		return err
	}
	if h.Placed {
		return column.ErrDamaged
	}
	id, err := h.tx.Conn().Blob("SELECT id FROM "+table+" INDEXED BY "+table+"_id WHERE id NOT NULL AND +seq = ?", seq)
	if err != nil {
		return err
	}
	ev := nostr.Event{ID: column.HexOf(id), Sig: strings.Repeat("0", 128)}
	if len(id) != 32 {
		ev.ID = strings.Repeat("0", 64)
	}
	settle := h.settleEvent
	if table == "history" {
		settle = h.settleVersion
	}
	h.tx.After(func() { h.Rot.Gone(table, seq) })
	return settle(seq, &ev, state.Int(1))
}

func (h *healing) settleEvent(seq int64, ev *nostr.Event, size int64) error {
	row, err := h.tx.Conn().One(sqlIndexedEvent, seq)
	if err != nil || row == nil {
		return noEntry(err)
	}
	key, err := h.tx.Conn().Blob(`SELECT key FROM pubkeys WHERE num = ?`, row[0])
	if err != nil {
		return err
	}
	d, err := h.tx.Conn().One(sqlIndexedD, seq)
	if err != nil {
		return err
	}
	var dValue engine.Value
	if d != nil {
		dValue = d[0]
	}
	err = h.inPlace(`UPDATE events SET author = ?1, kind = ?2, created_at = ?3, class = ?4, expires_at = ?5, readers = ?6, d = ?7, json = ?8, sum = 0 WHERE seq = ?9`,
		row[0], row[1], row[2], row[3], row[4], row[5], dValue, standIn(ev, column.HexOf(key), row.Int(1), row.Int(2), size), seq)
	if err != nil {
		return err
	}
	if err := h.tx.Conn().Each(sqlKeysNamed, []engine.Value{seq}, func(row engine.Row) error { return h.keys.Loosen(row.Int(0)) }); err != nil {
		return err
	}
	if _, err := h.tx.Exec(`DELETE FROM tags WHERE seq = ?`, seq); err != nil {
		return err
	}
	// Its words cannot leave the index one by one: the next start builds it anew.
	if class := gate.Class(row.Int(3)); class == gate.Open || class == gate.Contract {
		return h.tx.SetMeta(search.MetaVersion, "")
	}
	return nil
}

func (h *healing) settleVersion(seq int64, ev *nostr.Event, size int64) error {
	row, err := h.tx.Conn().One(sqlIndexedOld, seq)
	if err != nil || row == nil {
		return noEntry(err)
	}
	whom, err := h.tx.Conn().One(sqlIndexedWhom, seq)
	if err != nil || whom == nil {
		return noEntry(err)
	}
	readers := whom.Blob(1)
	if len(readers) > 0 { // as long as one key
		readers = append(readers, make([]byte, 32-len(readers))...)
	}
	return h.inPlace(`UPDATE history SET kind = ?1, created_at = ?2, d = ?3, class = ?4, readers = ?5, json = ?6, sum = 0 WHERE seq = ?7`,
		row[1], row[3], row[2], whom[0], readers, standIn(ev, row.Hex(0), row.Int(1), row.Int(3), size), seq)
}

// noEntry is the error for a row that an index has no entry of.
func noEntry(err error) error {
	if err == nil {
		err = column.ErrDamaged
	}
	return err
}

// standIn is JSON of a size, with the members that indexes are about.
func standIn(ev *nostr.Event, pubkey string, kind, created, size int64) []byte {
	ev.PubKey, ev.Kind, ev.CreatedAt, ev.Tags = pubkey, int(kind), nostr.Timestamp(created), nostr.Tags{}
	json := wire.AppendEvent(nil, ev)
	if more := size - int64(len(json)); more > 0 {
		ev.Content = strings.Repeat(" ", int(more))
		json = wire.AppendEvent(nil, ev)
	}
	return json
}
