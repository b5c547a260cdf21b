package events

import (
	"context"
	"fmt"
	"math"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

const (
	fromContractHistory = `history AS e INDEXED BY history_contract`
	sqlBefore           = `SELECT e.seq FROM history AS e INDEXED BY history_id WHERE e.id=? AND e.kind=? AND e.pubkey=? AND e.d=? AND e.class<>0`
)

// arrivals is History for one address of contract memory: the last that came
// first, for that is the order of its thread.
func (s *Store) arrivals(ctx context.Context, scope gate.Scope, q store.HistoryQuery, size bounds) (rows []store.Row, more bool, err error) {
	author, _ := column.Hex32(q.Author)
	address := []engine.Value{int64(q.Kind), author, record.AddressKey(q.Kind, *q.D)}
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		before, err := below(&q, c, scope, address)
		if err != nil {
			return err
		}
		w := &where{}
		w.text("SELECT " + columns(scope, nostr.Filter{}) + " FROM " + fromContractHistory + " WHERE ")
		w.and("e.kind=? AND e.pubkey=? AND e.d=? AND e.kind IN (30090,30091) AND e.seq<?", append(address, before)...)
		if q.Until != nil {
			w.and("e.created_at<=?", *q.Until)
		}
		scopeWhere(w, scope, nostr.Filter{}, fromHistory, dAny)
		w.text(" ORDER BY e.seq DESC LIMIT ?", int64(size.rows)+1)
		bytes := 0
		return c.Query(ctx, w.sql.String(), w.args, func(v []engine.Value) error {
			if more = len(rows) == size.rows || bytes >= size.bytes && len(rows) > 0; more {
				return engine.ErrStop
			}
			var row entry
			if err := row.scan(v); err != nil {
				return err
			}
			if row.readable(scope) {
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
	w := &where{any: true}
	w.text(sqlBefore, append([]engine.Value{id}, address...)...)
	scopeWhere(w, scope, nostr.Filter{}, fromHistory, dAny)
	row, err := c.One(w.sql.String(), w.args...)
	if err == nil && (!ok || row == nil) {
		err = fmt.Errorf("%w: before names no version that is shown here", store.ErrFilter)
	}
	if err != nil {
		return nil, err
	}
	return row[0], nil
}
