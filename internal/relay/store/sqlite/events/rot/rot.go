// Package rot is about rows that are not as they were written: how one is told,
// what it was, who may hear of it, and which are known.
package rot

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"slices"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Row is a row of events or history, read in full and judged.
type Row struct {
	Table  string
	Seq    int64
	ID     string // 64 lower-case hex digits; "" where it cannot be told
	Rotten bool
	Summed bool           // it has a sum, so that it was verified once
	Record *record.Record // what its JSON says; nil where that is no event with its id

	kind    int
	classes []gate.Class // that it may have had: who may not read one of them is told nothing
	author  string
	named   []string // the keys that its p tags name
}

const (
	sqlEvent = `SELECT seq, kind, created_at, class, d, ` + record.ReadersInFull + `, expires_at, json,
		(SELECT key FROM pubkeys WHERE num = author), typeof(readers) = 'integer' FROM events WHERE seq = ?`
	sqlVersion = `SELECT seq, kind, created_at, class, d, readers, expires_at, json, pubkey, NULL FROM history WHERE seq = ?`
	sqlIndexed = `SELECT 1 FROM events INDEXED BY events_author WHERE author = ` + record.NumOf + ` AND kind = ? AND created_at = ? AND class = ? AND seq = ?
		AND reader = coalesce(` + record.NumOf + `, 0)`
	sqlOldIndexed = `SELECT 1 FROM history INDEXED BY history_author WHERE pubkey = ? AND kind = ? AND class = ? AND reader = ?
		AND created_at = ? AND seq = ?`
)

// Look reads a row in full and judges it: by its sum, or, where it has none, by
// the id of its JSON, and by what follows from that for each column. nil: there
// is no such row.
func Look(c *engine.Conn, table *gate.Table, of string, seq int64) (*Row, error) {
	text := sqlEvent
	if of == "history" {
		text = sqlVersion
	}
	v, err := c.One(text, seq)
	if err != nil || v == nil {
		return nil, err
	}
	state, err := c.One("SELECT "+column.Sound(of, of)+" FROM "+of+" WHERE seq = ?", seq)
	if err != nil || state == nil {
		return nil, err
	}
	r := &Row{Table: of, Seq: seq, Summed: state[0] != nil, Record: intact(v.Blob(7))}
	r.describe(v, table)
	r.Rotten = r.Summed && state.Int(0) != 1
	if !r.Summed {
		sound, err := r.follows(c, v, table)
		if err != nil {
			return nil, err
		}
		r.Rotten = !sound
	}
	return r, nil
}

// intact is the event in stored JSON if that has its id and is what would be
// stored of it.
func intact(json []byte) *record.Record {
	ev, err := column.Event(json)
	if err != nil || wire.ID(ev) != ev.ID {
		return nil
	}
	r, err := record.New(ev, gate.Open)
	if err != nil || !bytes.Equal(r.JSON, json) {
		return nil
	}
	return r
}

// describe finds out whose the row was: from its JSON where that is intact, for
// then it cannot lie, and else from its columns.
func (r *Row) describe(v engine.Row, table *gate.Table) {
	class := record.StoredClass(v[3])
	if r.Record != nil {
		ev := r.Record.Event
		r.ID, r.author, r.kind = ev.ID, ev.PubKey, ev.Kind
		r.classes = []gate.Class{table.Reclassify(ev, gate.Open), table.Reclassify(ev, class)}
		r.named = keysIn(record.ReaderKeys(ev.Tags))
		return
	}
	if class == gate.Open {
		class = table.RuleOf(int(v.Int(1)))
	}
	r.kind = int(v.Int(1))
	r.classes, r.author, r.named = []gate.Class{class}, v.Hex(8), keysIn(v.Blob(5))
	if _, ok := v[3].(int64); !ok {
		r.classes = nil
	}
}

func keysIn(joined []byte) (keys []string) {
	for key := range slices.Chunk(joined, 32) {
		keys = append(keys, hex.EncodeToString(key))
	}
	return keys
}

// follows reports whether the columns of a row without a sum are what its JSON
// says, and its indexes too: the class of a deletion request does not follow
// from the event alone.
func (r *Row) follows(c *engine.Conn, v engine.Row, table *gate.Table) (bool, error) {
	if r.Record == nil {
		return false, nil
	}
	ev, rec := r.Record.Event, *r.Record
	rec.SetClass(table.Reclassify(ev, record.StoredClass(v[3])))
	for i, want := range []engine.Value{1: int64(ev.Kind), rec.Created, int64(rec.Class), rec.D, column.BytesOrNil(rec.Readers), column.TimeOrNil(rec.Expires)} {
		if i > 0 && !reflect.DeepEqual(v[i], want) {
			return false, nil
		}
	}
	if r.Table == "history" {
		return c.Exists(sqlOldIndexed, rec.Pubkey, v[1], v[3], record.VersionReader(rec.Readers), v[2], r.Seq)
	}
	if !bytes.Equal(v.Blob(8), rec.Pubkey) || (v.Int(9) == 1) != (len(rec.Readers) == 32) {
		return false, nil
	}
	return c.Exists(sqlIndexed, rec.Pubkey, v[1], v[2], v[3], r.Seq, column.BytesOrNil(rec.Readers))
}

// Told reports whether a reader may hear that the row is rotten: who may read the
// event by its id, which the filter named, or as its author or by a p tag. That
// he knows its contract is not enough.
func (r *Row) Told(scope gate.Scope) bool {
	if scope.All() {
		return true
	}
	for _, class := range r.classes {
		if class == gate.Open && r.Table == "history" || !scope.CanRead(gate.Subject{Class: class, ID: r.ID, Author: r.author, P: r.named}) {
			return false
		}
	}
	return len(r.classes) > 0
}

// Damaged is what a reader is told of it.
func (r *Row) Damaged() store.Damaged { return store.Damaged{Seq: r.Seq, ID: r.ID, Kind: r.kind} }
