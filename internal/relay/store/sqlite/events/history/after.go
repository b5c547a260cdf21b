package history

import (
	"cmp"
	"context"
	"math"
	"strconv"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/query"
	"engramd/internal/relay/store/sqlite/events/record"
)

// HistoryAfter returns superseded versions of everybody that the scope shows,
// in the order of their numbers, which is that of arrival: those after a
// number, and up to which number all was looked at. It is After itself at the
// end. A page may be empty before that, because a call goes no further than one
// read may. What has expired is not there, and neither is what was kept under a
// rule that is gone. Behind the members of each event stands its number, as
// seq, and what Arrivals adds. Errors are as of Query.
func (h *Reader) HistoryAfter(ctx context.Context, scope gate.Scope, q store.HistoryAfter) (rows []store.Row, to int64, err error) {
	defer h.Reader.Observed("history", time.Now(), &err)
	most, size := cmp.Or(max(q.Limit, 0), defaultHistoryRows), cmp.Or(max(q.MaxBytes, 0), historyBytes)
	after := max(q.After, 0)
	end := after + min(exportWindow, math.MaxInt64-after)
	err = h.Reader.DB.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		newest, err := record.LastSeq(c) // before the rows: what comes in between is for the next page
		if err != nil {
			return err
		}
		byAge, err := fewSince(c, &q)
		if err != nil {
			return err
		}
		if byAge {
			end = math.MaxInt64
		}
		w := h.versionsBetween(scope, &q, byAge, after, end, most)
		to = after
		read, cut, bytes := 0, false, 0
		err = c.Query(ctx, w.SQL.String(), w.Args, func(v []engine.Value) error {
			var row query.Entry
			if err := row.Scan(v); err != nil {
				return err
			}
			read, to = read+1, row.Seq
			if row.Readable(scope) {
				rows = append(rows, row.Row)
			}
			if bytes += len(row.JSON); bytes >= size {
				cut = true
				return engine.ErrStop
			}
			return nil
		})
		if !cut && read < most {
			to = max(after, min(end, newest)) // all of the window has been read
		}
		return err
	})
	if err == nil && q.Arrivals {
		err = h.AddArrivals(ctx, rows)
	}
	if err != nil {
		return nil, q.After, err
	}
	for i := range rows {
		event := rows[i].JSON
		event = append(event[:len(event)-1:len(event)-1], `,"seq":`...)
		rows[i].JSON = append(strconv.AppendInt(event, rows[i].Seq, 10), '}')
	}
	return rows, to, nil
}

const (
	// mostByAge is up to how many versions a page may find by the time at which
	// they were superseded: each page visits all of them.
	mostByAge    = 500
	sqlSomeByAge = `SELECT 1 FROM history INDEXED BY history_age WHERE kind NOT IN (30090, 30091) AND superseded_at >= ?
		ORDER BY superseded_at LIMIT 1 OFFSET ?`
)

// fewSince reports whether a page is found by the time at which versions were
// superseded: if what is new then is little. What is more is found in the order
// of arrival, by all pages together once.
func fewSince(c *engine.Conn, q *store.HistoryAfter) (bool, error) {
	if q.Since == nil || *q.Since <= 0 {
		return false, nil
	}
	more, err := c.Exists(sqlSomeByAge, *q.Since, int64(mostByAge))
	return !more, err
}

// versionsBetween selects a page of versions by their numbers.
func (h *Reader) versionsBetween(scope gate.Scope, q *store.HistoryAfter, byAge bool, after, end int64, most int) *query.Where {
	w, kinds, by := &query.Where{}, q.Kinds, "NOT INDEXED"
	if byAge {
		by = "INDEXED BY history_age"
	}
	w.Text("SELECT " + query.Columns(scope, nostr.Filter{}) + " FROM history AS e " + by + " WHERE ")
	if q.Since != nil {
		w.And("e.kind NOT IN (30090, 30091) AND e.superseded_at>=?", *q.Since) // the kinds of the index
	}
	w.And("e.seq>? AND e.seq<=?", after, end)
	w.And("e.class<>0 AND (e.expires_at IS NULL OR e.expires_at>?)", h.Reader.Clock().Unix())
	if kinds != nil {
		list := make([]engine.Value, len(kinds))
		for i, k := range kinds {
			list[i] = int64(k)
		}
		w.AndIn("e.kind", list)
	}
	query.ScopeWhere(w, scope, nostr.Filter{}, query.FromHistory, query.DAny)
	w.Text(" ORDER BY e.seq LIMIT ?", int64(most))
	return w
}
