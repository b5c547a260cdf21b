package events

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/ledger"
	"engramd/internal/relay/store/sqlite/events/record"
	"engramd/internal/relay/store/sqlite/events/search"
)

const (
	metaGate      = "gate"
	classifyChunk = 1000
)

// reclassifier puts stored events into other classes.
type reclassifier struct {
	*ledger.Tx
	keys  *ledger.PubkeyIDs
	table *gate.Table
}

// run puts every event into the class that the rules in force give it, if they
// differ from those it was stored under. It runs before anybody can read; a
// crash in between leaves the old fingerprint, and it starts again. Stores that
// have executed the same class alike: one of them is left as it is, and differs
// is true.
func (r reclassifier) run(ctx context.Context) (differs bool, err error) {
	want := r.table.Fingerprint()
	have, err := r.Conn().Meta(metaGate)
	if err != nil || have == want {
		return false, err
	}
	if shared, err := r.Conn().Exists(`SELECT 1 FROM meta WHERE key = ?`, metaState); err != nil || shared {
		return shared, err
	}
	if have != "" {
		r.Logger.Info("the gate's table of kinds or its rules changed: classing stored events anew")
	}
	verdicts := gate.WithVerdicts(have)
	for _, table := range []string{"events", "history"} {
		where, err := r.concerned(table)
		if err != nil {
			return false, err
		}
		var last int64
		err = r.Finish(ctx, func() (bool, error) { return r.classStep(table, where, verdicts, &last) })
		if err != nil {
			return false, fmt.Errorf("class stored events anew: %w", err)
		}
	}
	return false, r.SetMeta(metaGate, want)
}

// concerned is the condition on rows whose class may change: gated until now,
// or of a kind of which events may be.
func (r reclassifier) concerned(table string) (string, error) {
	var kinds []string
	err := r.Conn().Each("WITH RECURSIVE k(kind) AS (SELECT min(kind) FROM "+table+" UNION ALL SELECT (SELECT min(kind) FROM "+table+
		" WHERE kind > k.kind) FROM k WHERE k.kind IS NOT NULL) SELECT kind FROM k WHERE kind IS NOT NULL", nil,
		func(row engine.Row) error {
			if kind := row[0].(int64); r.table.MayGate(int(kind)) {
				kinds = append(kinds, strconv.FormatInt(kind, 10))
			}
			return nil
		})
	return "(class <> 0 OR kind IN (" + strings.Join(kinds, ", ") + "))", err
}

// classStep classes the next rows after seq *last. Where deletion requests were
// stored without a verdict, none is open whose ids nobody can judge any more.
func (r reclassifier) classStep(table, where string, verdicts bool, last *int64) (bool, error) {
	n := 0
	err := r.Conn().Each("SELECT seq, class, json, "+column.Sound(table, table)+" FROM "+table+" WHERE seq > ? AND "+where+" ORDER BY seq LIMIT "+
		strconv.Itoa(classifyChunk), []engine.Value{*last}, func(row engine.Row) error {
		n++
		*last = row[0].(int64)
		ev, err := column.Event(row.Blob(2))
		if err != nil || row[3] == engine.Value(int64(0)) {
			return nil // it is rotten: its sum stays wrong, and who reads it finds out
		}
		was, is := gate.Class(row[1].(int64)), r.table.Classify(ev)
		if verdicts {
			is = r.table.Reclassify(ev, was)
		}
		if was == is {
			return nil
		}
		if search.Text(was, ev) != search.Text(is, ev) || search.Table(was) != search.Table(is) {
			// The index is opened after this, and then built anew: to take out
			// many texts would take longer.
			if err := r.SetMeta(search.MetaVersion, ""); err != nil {
				return err
			}
		}
		var readers engine.Value
		if is != gate.Open {
			keys := record.ReaderKeys(ev.Tags)
			if readers = keys; table == "events" {
				if readers, err = r.keys.GiveReaders(keys); err != nil {
					return err
				}
			}
		}
		extra := "author"
		if table == "history" {
			extra = "superseded_at"
		}
		if table == "events" {
			if err := r.retag(*last, ev, was, is); err != nil {
				return err
			}
		}
		return r.Do("UPDATE "+table+" SET class = ?1, readers = ?2, sum = CASE WHEN sum NOT NULL THEN engramd_sum(seq, kind, created_at, ?1, d, ?2, expires_at, arrived_at, json, "+
			extra+") END WHERE seq = ?3", int64(is), readers, *last)
	})
	return n == classifyChunk, err
}

// retag lists an event's tags under its new class.
func (r reclassifier) retag(seq int64, ev *nostr.Event, was, is gate.Class) error {
	for i, class := range []gate.Class{was, is} {
		text := `DELETE FROM tags WHERE name = ?1 AND value = ?2 AND class = ?3 AND created_at = ?4 AND seq = ?5 AND kind = ?6`
		if i > 0 {
			text = `INSERT OR IGNORE INTO tags(name, value, class, created_at, seq, kind) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`
		}
		for _, t := range record.Tags(ev.Tags, class) {
			value := t.Value
			if k, numbered := t.NumberedKey(); numbered {
				num, err := r.keys.Give(k)
				if err != nil {
					return err
				}
				value = num
			}
			if _, err := r.Exec(text, t.Name, value, int64(class), int64(ev.CreatedAt), seq, int64(ev.Kind)); err != nil {
				return err
			}
		}
	}
	return nil
}
