package retention

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/retention"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/query"
	"engramd/internal/relay/store/sqlite/events/record"
)

// match is a row that a filter of the operator matches.
type match struct {
	place shelf
	seq   int64 // num in quarantine
	id    []byte
	kind  int
	cost  int // as record.cost
	spare bool
}

// eachMatching gives fn what any of the filters matches, each row once, in
// pieces, holding nothing open meanwhile: events first, so that what is
// superseded while they are read is found in history.
func (c *Cleaner) eachMatching(ctx context.Context, scope gate.Scope, filters []nostr.Filter, fn func([]match) error) error {
	if !scope.All() {
		return fmt.Errorf("%w: removing is the operator's", store.ErrFilter)
	}
	for _, f := range filters {
		if f.Search != "" || f.Limit != 0 || f.LimitZero {
			return fmt.Errorf("%w: it has a search or a limit", store.ErrFilter)
		}
	}
	for _, walk := range []func(context.Context, []nostr.Filter, int, func([]match) error) error{c.matchingEvents, c.matchingVersions, c.matchingQuarantine} {
		for i := range filters {
			if err := walk(ctx, filters, i, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// matchingEvents walks the events that filters[i] matches, newest first.
func (c *Cleaner) matchingEvents(ctx context.Context, filters []nostr.Filter, i int, fn func([]match) error) error {
	ask := store.Ask{Scope: gate.Operator(), Filter: filters[i]}
	for {
		page, err := c.Reader.Query(ctx, ask)
		var damaged *store.DamagedError
		if err != nil && !errors.As(err, &damaged) {
			return err
		}
		found := rotten(damaged, filters[i])
		for _, row := range page.Rows {
			if found, err = judged(found, filters, i, match{place: inEvents, seq: row.Seq, id: row.ID[:]}, row.JSON); err != nil {
				return err
			}
		}
		if err := fn(found); err != nil || !page.More || len(page.Rows) == 0 {
			return err
		}
		last := page.Rows[len(page.Rows)-1]
		ask.After = &store.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}

// rotten are the rows that a filter names by their ids: of what is rotten nothing
// else is certain, and so nothing else removes it.
func rotten(damaged *store.DamagedError, f nostr.Filter) (found []match) {
	if damaged == nil {
		return nil
	}
	for _, d := range damaged.Events {
		if id, ok := column.Hex32(d.ID); ok && slices.Contains(f.IDs, d.ID) {
			may := f.Kinds != nil || !retention.MustBeNamed(d.Kind)
			found = append(found, match{place: inEvents, seq: d.Seq, id: id, kind: d.Kind, cost: record.RowCost, spare: !may})
		}
	}
	return found
}

// judged appends a row that filters[i] matches to found, unless it is another
// filter's: the first that matches it and may touch it has it, or if none may,
// the first that matches it.
func judged(found []match, filters []nostr.Filter, i int, m match, json []byte) ([]match, error) {
	var err error
	if m.kind, err = record.StoredKind(json); err != nil {
		return found, err
	}
	m.cost = len(json) + record.RowCost*bytes.Count(json, []byte(`["`))
	may := func(f *nostr.Filter) bool { return f.Kinds != nil || !retention.MustBeNamed(m.kind) }
	m.spare = !may(&filters[i])
	if len(filters) > 1 {
		ev, err := column.Event(json)
		if err != nil {
			return found, err
		}
		for j := range filters {
			if f := &filters[j]; j != i && f.Matches(ev) && (may(f) && (m.spare || j < i) || m.spare && j < i) {
				return found, nil
			}
		}
	}
	return append(found, m), nil
}

// versionWindow is how far one read of history goes, in seq.
const versionWindow = 1 << 16

const sqlLastVersion = `SELECT max(seq) FROM history`

// matchingVersions walks the superseded versions that filters[i] matches: those
// of ids by their index, else all of history once, in windows that bound each
// read.
func (c *Cleaner) matchingVersions(ctx context.Context, filters []nostr.Filter, i int, fn func([]match) error) error {
	last, err := engine.Look(ctx, c.Reader.DB, (*engine.Conn).Number, sqlLastVersion)
	if err != nil {
		return err
	}
	window := int64(versionWindow)
	if filters[i].IDs != nil {
		window = last
	}
	for from := int64(0); from < last; from += window {
		if err := c.matchingRows(ctx, inHistory, filters, i, from, min(from+window, last), fn); err != nil {
			return err
		}
	}
	return nil
}

// matchingQuarantine walks what lies in quarantine.
func (c *Cleaner) matchingQuarantine(ctx context.Context, filters []nostr.Filter, i int, fn func([]match) error) error {
	return c.matchingRows(ctx, inQuarantine, filters, i, 0, 1<<62, fn)
}

// matchingRows walks rows of history or quarantine whose number is above from
// and not above to.
func (c *Cleaner) matchingRows(ctx context.Context, p shelf, filters []nostr.Filter, i int, from, to int64, fn func([]match) error) error {
	want, err := query.Compile(filters[i])
	if err != nil || want.None {
		return err
	}
	table, num := "history", "seq"
	if p == inQuarantine {
		table, num = "quarantine", "num"
	}
	for {
		w := rowsWhere(want, table, num, from, to)
		var found []match
		n, size := 0, 0
		err := c.Reader.DB.Read(ctx, engine.Scan, func(ctx context.Context, conn *engine.Conn) error {
			return conn.Query(ctx, w.SQL.String(), w.Args, func(v engine.Row) (err error) {
				json, ok := v[2].([]byte)
				id, ok2 := v[1].([]byte)
				if !ok || !ok2 {
					return column.ErrDamaged
				}
				from = v[0].(int64)
				n, size = n+1, size+len(json)
				if found, err = judgedVersion(want, found, filters, i, match{place: p, seq: from, id: id}, json); err == nil && size >= query.ExportBytes {
					n = query.ExportRows
					err = engine.ErrStop
				}
				return err
			})
		})
		if err != nil {
			return err
		}
		if err := fn(found); err != nil || n < query.ExportRows {
			return err
		}
	}
}

// judgedVersion is judged for a row of which only the columns have been
// compared.
func judgedVersion(w *query.Wanted, found []match, filters []nostr.Filter, i int, m match, json []byte) ([]match, error) {
	if len(w.Tags) > 0 {
		ev, err := column.Event(json)
		if err != nil || !filters[i].Matches(ev) {
			return found, err
		}
	}
	return judged(found, filters, i, m, json)
}

// rowsWhere selects rows of a table that has no tag index by the filter's other
// conditions.
func rowsWhere(want *query.Wanted, table, num string, from, to int64) *query.Where {
	w := &query.Where{}
	w.Text("SELECT " + num + ",id,json FROM " + table + " AS e")
	if want.IDs == nil {
		w.Text(" NOT INDEXED")
	}
	w.Text(" WHERE ")
	w.And(num+">? AND "+num+"<=?", from, to)
	want.Columns(w)
	w.Text(" ORDER BY 1 LIMIT ?", int64(query.ExportRows))
	return w
}

// shelf says where a row lies.
type shelf int

const (
	inEvents shelf = iota
	inHistory
	inQuarantine
)
