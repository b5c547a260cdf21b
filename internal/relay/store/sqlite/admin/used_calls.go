package admin

import (
	"context"
	"errors"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	sqlUseCall  = `INSERT INTO used_calls(id, key, at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING`
	sqlOldCalls = `DELETE FROM used_calls WHERE at < ?`
	sqlCalls    = `SELECT id, key, at FROM used_calls WHERE at >= ? ORDER BY at`
)

// UseCalls notes calls, says which were noted before, and forgets those from
// before a time in Unix seconds, in one transaction.
func (s *Store) UseCalls(ctx context.Context, calls []store.UsedCall, before int64) (had []bool, err error) {
	return store.Answer[[]bool](ctx, s.orders, store.UseCalls{Calls: calls, Before: before})
}

func (w *Writer) useCalls(calls []store.UsedCall, before int64) (had []bool, err error) {
	had = make([]bool, len(calls))
	for i, c := range calls {
		id, ok1 := column.Hex32(c.ID)
		key, ok2 := column.Hex32(c.Key)
		if !ok1 || !ok2 {
			return nil, errors.New("a call is noted with an event id and a pubkey")
		}
		n, err := w.Exec(sqlUseCall, id, key, c.At)
		if err != nil {
			return nil, err
		}
		had[i] = n == 0
	}
	_, err = w.Exec(sqlOldCalls, before)
	return had, err
}

// UsedCalls gives fn the calls since a time in Unix seconds, in the order of
// their time.
func (s *Store) UsedCalls(ctx context.Context, since int64, fn func(store.UsedCall)) error {
	return s.db.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		return c.Query(ctx, sqlCalls, []engine.Value{since}, func(v []engine.Value) error {
			at, _ := v[2].(int64)
			fn(store.UsedCall{ID: column.HexOf(v[0]), Key: column.HexOf(v[1]), At: at})
			return nil
		})
	})
}
