package events

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Export gives fn the JSON of every event that the scope shows and one of the
// filters matches (without filters all), without what has expired, in the order
// of arrival: heads and regular events, and with history the superseded
// versions too, each where it arrived, so that an import in this order ends
// with the same heads. It reads in small pieces and holds nothing open while fn
// runs: an event that is deleted meanwhile may be missing, a head that is
// replaced meanwhile may come in both versions, and none is lost. fn must not
// keep the slice. The first error of fn ends the export and is returned;
// ErrFilter is for a filter with Search or Limit; others are as of Query, the
// time limit holding for each piece.
func (s *Store) Export(ctx context.Context, scope gate.Scope, history bool, filters []nostr.Filter, fn func(json []byte) error) error {
	e := exporting{s: s, scope: scope, history: history, filters: filters, window: math.MaxInt64}
	if err := e.compile(); err != nil {
		return err
	}
	for last := int64(0); ; {
		rows, to, err := e.page(ctx, last)
		if err != nil {
			return err
		}
		if to == last {
			return nil
		}
		for _, row := range rows {
			if err := fn(row.JSON); err != nil {
				return err
			}
		}
		last = to
	}
}

// exporting is one export.
type exporting struct {
	s       *Store
	scope   gate.Scope
	history bool
	filters []nostr.Filter
	wanted  []*wanted
	byTags  bool  // a filter has conditions on tags: rows are matched again, as events
	byIDs   bool  // every filter has ids
	window  int64 // how far one read goes, in seq
}

// exportWindow is how far one read goes that may find nothing.
const exportWindow = 1 << 18

func (e *exporting) compile() error {
	e.byIDs = true
	for _, f := range e.filters {
		if f.Search != "" || f.Limit != 0 || f.LimitZero {
			return fmt.Errorf("%w: it has a search or a limit", store.ErrFilter)
		}
		want, err := compile(f)
		if err != nil {
			return err
		}
		e.wanted = append(e.wanted, want)
		e.byTags = e.byTags || len(want.tags) > 0
		e.byIDs = e.byIDs && want.ids != nil
	}
	if len(e.filters) > 0 && !e.byIDs {
		e.window = exportWindow
	}
	return nil
}

// page reads what arrived after the number last and reports the number it came
// to, last itself at the end.
func (e *exporting) page(ctx context.Context, last int64) (rows []store.Row, to int64, err error) {
	defer e.s.observed("export", time.Now(), &err)
	end := last + min(e.window, math.MaxInt64-last)
	w := e.statement(last, end)
	n, size := 0, 0
	err = e.s.db.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		most, err := record.LastSeq(c) // before the rows: what arrives in between is for the next page
		if err != nil {
			return err
		}
		to = last
		err = c.Query(ctx, w.sql.String(), w.args, func(v []engine.Value) error {
			var row entry
			if err := row.scan(v); err != nil {
				return err
			}
			n, to = n+1, row.Seq
			shown, err := e.shows(&row)
			if err != nil {
				return err
			}
			if shown {
				rows = append(rows, row.Row)
			}
			if size += len(row.JSON); size >= exportBytes {
				n = exportRows
				return engine.ErrStop
			}
			return nil
		})
		if n < exportRows {
			to = max(to, min(end, most)) // all of the window has been read
		}
		return err
	})
	return rows, to, err
}

// statement selects a page's rows: what the filters say of columns, the scope,
// expiry.
func (e *exporting) statement(last, end int64) *where {
	now := e.s.clock().Unix()
	w := &where{}
	select1 := func(from source, table string) {
		w.any = false
		w.text("SELECT " + columns(e.scope, nostr.Filter{}) + " FROM " + table + " AS e")
		if !e.byIDs || len(e.filters) == 0 {
			w.text(" NOT INDEXED") // an index would be gone through from its start for every page
		}
		w.text(" WHERE ")
		w.and("e.seq>? AND e.seq<=?", last, end)
		w.and("(e.expires_at IS NULL OR e.expires_at>?)", now)
		e.filtered(w)
		scopeWhere(w, e.scope, nostr.Filter{}, from, dAny)
	}
	select1(fromEvents, "events")
	if e.history {
		w.text(" UNION ALL ")
		select1(fromHistory, "history")
	}
	w.text(" ORDER BY 1 LIMIT ?", int64(exportRows))
	return w
}

// filtered adds the condition that one of the filters matches, as far as
// columns tell.
func (e *exporting) filtered(w *where) {
	if len(e.wanted) == 0 {
		return
	}
	w.and("(0")
	for _, want := range e.wanted {
		w.text(" OR (")
		w.any = false
		if want.none {
			w.text("0")
		} else {
			want.columns(w)
		}
		w.text(")")
	}
	w.text(")")
	w.any = true
}

// shows is the second check of scope and filters.
func (e *exporting) shows(row *entry) (bool, error) {
	if !row.readable(e.scope) {
		return false, nil
	}
	if !e.byTags {
		return true, nil
	}
	ev, err := column.Event(row.JSON)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(e.filters, func(f nostr.Filter) bool { return f.Matches(ev) }), nil
}
