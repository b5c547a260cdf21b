package history

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/query"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Export gives fn the JSON of every event that the scope shows and one of the
// filters matches (without filters all), without what has expired, in the order
// of arrival: heads and regular events, and with history the superseded
// versions too, each where it arrived, so that an import in this order ends
// with the same heads. It reads in small pieces and holds nothing open while fn
// runs: an event that is deleted meanwhile may be missing, a head that is
// replaced meanwhile may come in both versions, and none is lost. fn must not
// keep the slice. The first error of fn ends the export and is returned. Rotten
// rows are left out: *store.DamagedError says in the end which; and so is what
// cannot be read: store.ErrUnreadable says where.
// ErrFilter is for a filter with Search or Limit; others are as of Query, the
// time limit holding for each piece.
func (h *Reader) Export(ctx context.Context, scope gate.Scope, history bool, filters []nostr.Filter, fn func(json []byte) error) error {
	e := exporting{h: h, scope: scope, history: history, filters: filters, window: math.MaxInt64}
	if err := e.compile(); err != nil {
		return err
	}
	for last := int64(0); ; {
		rows, to, err := e.page(ctx, last)
		if engine.Unreadable(err) && to == last {
			to, err = e.skip(ctx, last)
		}
		if err != nil && !engine.Unreadable(err) {
			return err
		}
		if to == last {
			return errors.Join(query.Lacking(e.damaged, false, nil), e.unread())
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
	h       *Reader
	scope   gate.Scope
	history bool
	filters []nostr.Filter
	wanted  []*query.Wanted
	byTags  bool  // a filter has conditions on tags: rows are matched again, as events
	byIDs   bool  // every filter has ids
	window  int64 // how far one read goes, in seq
	damaged []store.Damaged
	probing bool       // a page is one row
	gaps    [][2]int64 // numbers that could not be read, from and to
}

// exportWindow is how far one read goes that may find nothing.
const exportWindow = 1 << 18

func (e *exporting) compile() error {
	e.byIDs = true
	for _, f := range e.filters {
		if f.Search != "" || f.Limit != 0 || f.LimitZero {
			return fmt.Errorf("%w: it has a search or a limit", store.ErrFilter)
		}
		want, err := query.Compile(f)
		if err != nil {
			return err
		}
		e.wanted = append(e.wanted, want)
		e.byTags = e.byTags || len(want.Tags) > 0
		e.byIDs = e.byIDs && want.IDs != nil
	}
	if len(e.filters) > 0 && !e.byIDs {
		e.window = exportWindow
	}
	return nil
}

// page reads what arrived after the number last and reports the number it came
// to, last itself at the end.
func (e *exporting) page(ctx context.Context, last int64) (rows []store.Row, to int64, err error) {
	defer e.h.Reader.Observed("export", time.Now(), &err)
	end := last + min(e.window, math.MaxInt64-last)
	w := e.statement(last, end)
	n, size := 0, 0
	err = e.h.Reader.DB.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		most, err := record.LastSeq(c) // before the rows: what arrives in between is for the next page
		if to = last; engine.Unreadable(err) {
			most, err = math.MaxInt64, nil
		}
		if err != nil {
			return err
		}
		err = c.Query(ctx, w.SQL.String(), w.Args, func(v engine.Row) error {
			var row query.Entry
			if err := row.Scan(v[:len(v)-1]); err != nil {
				return err
			}
			if n, to = n+1, row.Seq; e.probing {
				n = query.ExportRows
				return engine.ErrStop
			}
			sound, met, err := e.h.Reader.Sift(c, e.scope, &row, query.Source(v.Int(len(v)-1)))
			if e.damaged = append(e.damaged, met...); err != nil || !sound {
				return err
			}
			shown, err := e.shows(&row)
			if err != nil {
				return err
			}
			if shown {
				rows = append(rows, row.Row)
			}
			if size += len(row.JSON); size >= query.ExportBytes {
				n = query.ExportRows
				return engine.ErrStop
			}
			return nil
		})
		if err == nil && n < query.ExportRows {
			to = max(to, min(end, most)) // all of the window has been read
		}
		return err
	})
	return rows, to, err
}

// statement selects a page's rows: what the filters say of columns, the scope,
// expiry.
func (e *exporting) statement(last, end int64) *query.Where {
	now := e.h.Reader.Clock().Unix()
	w := &query.Where{}
	select1 := func(from query.Source, table string) {
		w.Any = false
		w.Text("SELECT " + query.Columns(e.scope, nostr.Filter{}, from) + "," + strconv.Itoa(int(from)) + " FROM " + table + " AS e")
		if !e.byIDs || len(e.filters) == 0 {
			w.Text(" NOT INDEXED") // an index would be gone through from its start for every page
		}
		w.Text(" WHERE ")
		w.And("e.seq>=? AND e.seq<=?", last+min(1, math.MaxInt64-last), end) // behind last would be looked for on its page
		w.And(column.Lives(table, "e"), now)
		e.filtered(w)
		query.ScopeWhere(w, e.scope, nostr.Filter{}, from, query.DAny)
	}
	select1(query.FromEvents, "events")
	if e.history {
		w.Text(" UNION ALL ")
		select1(query.FromHistory, "history")
	}
	w.Text(" ORDER BY 1 LIMIT ?", int64(query.ExportRows))
	return w
}

// filtered adds the condition that one of the filters matches, as far as
// columns tell.
func (e *exporting) filtered(w *query.Where) {
	if len(e.wanted) == 0 {
		return
	}
	w.And("(0")
	for _, want := range e.wanted {
		w.Text(" OR (")
		w.Any = false
		if want.None {
			w.Text("0")
		} else {
			want.Columns(w)
		}
		w.Text(")")
	}
	w.Text(")")
	w.Any = true
}

// shows is the second check of scope and filters.
func (e *exporting) shows(row *query.Entry) (bool, error) {
	if !row.Readable(e.scope) {
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
