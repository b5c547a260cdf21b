package history

import (
	"context"
	"fmt"
	"math"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/query"
	"engramd/internal/relay/store/sqlite/events/record"
)

const (
	fromContractHistory = `history AS e INDEXED BY history_contract`
	sqlBefore           = `SELECT e.seq FROM history AS e INDEXED BY history_id WHERE e.id=? AND e.kind=? AND e.pubkey=? AND e.d=? AND e.class<>0`
)

// arrivals is History for one address of contract memory: the last that came
// first, for that is the order of its thread.
func (h *Reader) arrivals(ctx context.Context, scope gate.Scope, q store.HistoryQuery, most, size int) (rows []store.Row, more bool, err error) {
	author, _ := column.Hex32(q.Author)
	address := []engine.Value{int64(q.Kind), author, record.AddressKey(q.Kind, *q.D)}
	err = h.Reader.DB.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		before, err := below(&q, c, scope, address)
		if err != nil {
			return err
		}
		w := &query.Where{}
		w.Text("SELECT " + query.Columns(scope, nostr.Filter{}) + " FROM " + fromContractHistory + " WHERE ")
		w.And("e.kind=? AND e.pubkey=? AND e.d=? AND e.kind IN (30090,30091) AND e.seq<?", append(address, before)...)
		if q.Until != nil {
			w.And("e.created_at<=?", *q.Until)
		}
		query.ScopeWhere(w, scope, nostr.Filter{}, query.FromHistory, query.DAny)
		w.Text(" ORDER BY e.seq DESC LIMIT ?", int64(most)+1)
		bytes := 0
		return c.Query(ctx, w.SQL.String(), w.Args, func(v []engine.Value) error {
			if more = len(rows) == most || bytes >= size && len(rows) > 0; more {
				return engine.ErrStop
			}
			var row query.Entry
			if err := row.Scan(v); err != nil {
				return err
			}
			if row.Readable(scope) {
				rows, bytes = append(rows, row.Row), bytes+len(row.JSON)
			}
			return nil
		})
	})
	return rows, more, err
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
