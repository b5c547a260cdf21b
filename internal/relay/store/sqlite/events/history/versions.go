// Package history reads what is not, or not only, in heads: superseded versions,
// everything in the order of arrival, and a memory as it was at an instant.
package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
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

// Reader reads superseded versions, and everything there is of somebody's.
type Reader struct {
	Reader      *query.Reader
	Options     func() *store.Live
	AddArrivals func(ctx context.Context, rows []store.Row) error // to versions of contract memory
}

// Bounds of one call of History.
const (
	defaultHistoryRows = 100
	historyBytes       = 8 << 20
)

// History returns superseded versions of one author and kind, of one address
// when D is given: newest first, ties by lowest id. The scope is gate.Party's
// or gate.Operator: what the reader is no party to is not there, and neither is
// what has expired. more says that the limit, or MaxBytes, kept further
// versions back: ask again with Until, or exactly with After, set to the last
// row's. Errors are as of Query; ErrFilter when Author is no pubkey.
//
// Those of one address of contract memory come by arrival, the last first.
// Versions of contract memory say besides, behind the members of the event,
// which number they have, when they came and whether they were withdrawn.
//
// Rotten versions are left out, and *store.DamagedError says which beside the
// rows; of one address the question has failed with it.
//
// Versions are kept under a rule of the gate. When the operator takes the rule
// away they are shown to nobody: they were written for some, and only the head
// has become everybody's.
func (h *Reader) History(ctx context.Context, scope gate.Scope, q store.HistoryQuery) (rows []store.Row, more bool, err error) {
	defer h.Reader.Observed("history", time.Now(), &err)
	most, size := cmp.Or(max(q.Limit, 0), defaultHistoryRows), cmp.Or(max(q.MaxBytes, 0), historyBytes)
	if q.ByArrival() {
		if rows, more, err = h.arrivals(ctx, scope, q, most, size); err == nil && q.Arrivals {
			err = h.AddArrivals(ctx, rows)
		}
		return rows, more, err
	}
	how := engine.Scan
	if q.D != nil && most <= query.FewRows {
		how = engine.LookUp
	}
	ask := store.Ask{Scope: scope, After: q.After, MaxRows: most, MaxBytes: size}
	page, err := h.Reader.Versions(ctx, ask, &q, how)
	if err = whole(err, q.D != nil); (err == nil || store.PartOf(err) != nil) && record.IsContract(q.Kind) && q.Arrivals {
		err = errors.Join(err, h.AddArrivals(ctx, page.Rows))
	}
	return page.Rows, page.More, err
}

// whole says of rows that an answer lacks that it is worth nothing without them.
func whole(err error, is bool) error {
	if d := store.PartOf(err); d != nil && is {
		return &store.DamagedError{Events: d.Events, Whole: true}
	}
	return err
}

const (
	sqlBefore = `SELECT e.seq FROM history AS e INDEXED BY history_id WHERE e.id=? AND e.kind=? AND e.pubkey=? AND e.d=? AND e.class<>0`
)

// arrivals is History for one address of contract memory: the last that came
// first, for that is the order of its thread.
func (h *Reader) arrivals(ctx context.Context, scope gate.Scope, q store.HistoryQuery, most, size int) (rows []store.Row, more bool, err error) {
	author, ok := column.Hex32(q.Author)
	if !ok {
		return nil, false, fmt.Errorf("%w: the author is no pubkey", store.ErrFilter)
	}
	var damaged []store.Damaged
	address := []engine.Value{int64(q.Kind), author, record.AddressKey(q.Kind, *q.D)}
	err = h.Reader.DB.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		before, err := below(&q, c, scope, address)
		if err != nil {
			return err
		}
		w := &query.Where{}
		w.Text("SELECT " + query.Columns(scope, nostr.Filter{}, query.FromHistory) + " FROM history AS e WHERE e.seq IN (SELECT seq FROM history AS v INDEXED BY history_contract WHERE ")
		w.And("v.kind=? AND v.pubkey=? AND v.d=? AND v.kind IN (30090,30091) AND v.seq<?", append(address, before)...)
		if readers, whole := query.Readers(scope, &q); !whole { // others' are not passed over
			w.AndIn("v.reader", readers)
		}
		w.Text(")")
		if q.Until != nil {
			w.And("e.created_at<=?", *q.Until)
		}
		query.ScopeWhere(w, scope, nostr.Filter{}, query.FromHistory, query.DAny)
		w.Text(" ORDER BY e.seq DESC LIMIT ?", int64(most)+1)
		bytes := 0
		return c.Query(ctx, w.SQL.String(), w.Args, func(v engine.Row) error {
			if more = len(rows) == most || bytes >= size && len(rows) > 0; more {
				return engine.ErrStop
			}
			var row query.Entry
			if err := row.Scan(v); err != nil {
				return err
			}
			sound, met, err := h.Reader.Sift(c, scope, &row, query.FromHistory)
			if damaged = append(damaged, met...); sound && row.Readable(scope) {
				rows, bytes = append(rows, row.Row), bytes+len(row.JSON)
			}
			return err
		})
	})
	return rows, more, query.Lacking(damaged, true, err)
}

// below is the arrival before which versions are wanted. A version that the
// reader may not see is named in vain, as one that is not there.
func below(q *store.HistoryQuery, c *engine.Conn, scope gate.Scope, address []engine.Value) (engine.Value, error) {
	if q.Before == "" {
		if q.Below > 0 {
			return q.Below, nil
		}
		return int64(math.MaxInt64), nil
	}
	id, ok := column.Hex32(q.Before)
	w := &query.Where{Any: true}
	w.Text(sqlBefore, append([]engine.Value{id}, address...)...)
	query.ScopeWhere(w, scope, nostr.Filter{}, query.FromHistory, query.DAny)
	row, err := c.One(w.SQL.String(), w.Args...)
	if err == nil && (!ok || row == nil) {
		err = fmt.Errorf("%w: before names no version that is shown here", store.ErrFilter)
	}
	if err != nil {
		return nil, err
	}
	return row[0], nil
}

// HistoryAfter returns superseded versions of everybody that the scope shows,
// in the order of their numbers, which is that of arrival: those after a
// number, and up to which number all was looked at. It is After itself at the
// end. A page may be empty before that, because a call goes no further than one
// read may. What has expired is not there, and neither is what was kept under a
// rule that is gone. Behind the members of each event stands its number, as
// seq, and what Arrivals adds. Errors are as of Query, rotten versions as of
// History.
func (h *Reader) HistoryAfter(ctx context.Context, scope gate.Scope, q store.HistoryAfter) (rows []store.Row, to int64, err error) {
	defer h.Reader.Observed("history", time.Now(), &err)
	most, size := cmp.Or(max(q.Limit, 0), defaultHistoryRows), cmp.Or(max(q.MaxBytes, 0), historyBytes)
	var damaged []store.Damaged
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
		err = c.Query(ctx, w.SQL.String(), w.Args, func(v engine.Row) error {
			var row query.Entry
			if err := row.Scan(v); err != nil {
				return err
			}
			read, to = read+1, row.Seq
			sound, met, err := h.Reader.Sift(c, scope, &row, query.FromHistory)
			if err != nil {
				return err
			}
			if damaged = append(damaged, met...); sound && row.Readable(scope) {
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
	return rows, to, query.Lacking(damaged, false, nil)
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
	w.Text("SELECT " + query.Columns(scope, nostr.Filter{}, query.FromHistory) + " FROM history AS e " + by + " WHERE ")
	if q.Since != nil {
		w.And("e.kind NOT IN (30090, 30091) AND e.superseded_at>=?", *q.Since) // the kinds of the index
	}
	w.And("e.seq>? AND e.seq<=?", after, end)
	w.And("e.class<>0 AND "+column.Lives("history", "e"), h.Reader.Clock().Unix())
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
