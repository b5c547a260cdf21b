package events

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
	"engramd/internal/relay/store/sqlite/events/search"
)

const (
	metaGate      = "gate"
	classifyChunk = 1000
)

// reclassify puts every event into the class that the rules in force give it,
// if they differ from those it was stored under. It runs before anybody can
// read; a crash in between leaves the old fingerprint, and it starts again.
func (w *writer) reclassify(ctx context.Context) error {
	want := w.s.table.Fingerprint()
	have, err := w.Conn().Meta(metaGate)
	if err != nil || have == want {
		return err
	}
	if shared, err := w.Conn().Exists(`SELECT 1 FROM meta WHERE key = ?`, metaState); err != nil || shared {
		w.s.several.otherGate = true // stores that have executed the same class alike
		return err
	}
	if have != "" {
		w.s.log.Info("the gate's table of kinds or its rules changed: classing stored events anew")
	}
	verdicts := gate.WithVerdicts(have)
	for _, table := range []string{"events", "history"} {
		where, err := w.concerned(table)
		if err != nil {
			return err
		}
		var last int64
		err = w.Finish(ctx, func() (bool, error) { return w.classStep(table, where, verdicts, &last) })
		if err != nil {
			return fmt.Errorf("class stored events anew: %w", err)
		}
	}
	return w.SetMeta(metaGate, want)
}

// concerned is the condition on rows whose class may change: gated until now,
// or of a kind of which events may be.
func (w *writer) concerned(table string) (string, error) {
	var kinds []string
	err := w.Conn().Each("WITH RECURSIVE k(kind) AS (SELECT min(kind) FROM "+table+" UNION ALL SELECT (SELECT min(kind) FROM "+table+
		" WHERE kind > k.kind) FROM k WHERE k.kind IS NOT NULL) SELECT kind FROM k WHERE kind IS NOT NULL", nil,
		func(row []engine.Value) error {
			if kind := row[0].(int64); w.s.table.MayGate(int(kind)) {
				kinds = append(kinds, strconv.FormatInt(kind, 10))
			}
			return nil
		})
	return "(class <> 0 OR kind IN (" + strings.Join(kinds, ", ") + "))", err
}

// classStep classes the next rows after seq *last. Where deletion requests were
// stored without a verdict, none is open whose ids nobody can judge any more.
func (w *writer) classStep(table, where string, verdicts bool, last *int64) (bool, error) {
	n := 0
	err := w.Conn().Each("SELECT seq, class, json FROM "+table+" WHERE seq > ? AND "+where+" ORDER BY seq LIMIT "+
		strconv.Itoa(classifyChunk), []engine.Value{*last}, func(row []engine.Value) error {
		n++
		*last = row[0].(int64)
		ev, err := column.Event(row[2].([]byte))
		if err != nil {
			return fmt.Errorf("event %d: %w", *last, err)
		}
		was, is := gate.Class(row[1].(int64)), w.s.table.Classify(ev)
		if verdicts {
			is = w.s.table.Reclassify(ev, was)
		}
		if was == is {
			return nil
		}
		if search.Text(was, ev) != search.Text(is, ev) || search.Table(was) != search.Table(is) {
			// The index is opened after this, and then built anew: to take out
			// many texts would take longer.
			if err := w.SetMeta(search.MetaVersion, ""); err != nil {
				return err
			}
		}
		var readers engine.Value
		if is != gate.Open {
			keys := record.ReaderKeys(ev.Tags)
			if readers = keys; table == "events" {
				if readers, err = w.keys.GiveReaders(keys); err != nil {
					return err
				}
			}
		}
		_, err = w.Exec("UPDATE "+table+" SET class = ?, readers = ? WHERE seq = ?", int64(is), readers, *last)
		return err
	})
	return n == classifyChunk, err
}
