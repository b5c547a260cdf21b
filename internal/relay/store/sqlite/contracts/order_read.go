package contracts

import (
	"context"
	"errors"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	sqlOrderEntries = `SELECT n, arrived_at, id, '', '', '', '', 0 FROM contract_entries INDEXED BY contract_entries_order
		WHERE contract = ? AND author = ? AND other = ? AND form < 2`
	sqlOrderOffer = `SELECT n, arrived_at, id, '', '', '', '', 0 FROM contract_moves WHERE thread = ? AND author = ? AND other = ?`
	sqlOrderMoves = `SELECT n, arrived_at, id, '', '', '', '', 0 FROM contract_moves WHERE thread = ?`
	sqlOrderGaps  = `SELECT n, arrived_at, NULL, type, role, coalesce(status, ''), coalesce(previous, ''), coalesce(created_at, 0)
		FROM contract_gaps WHERE thread = ?`
)

// ThreadOrder gives fn all numbers of a thread, as of one moment and in order.
// The reader must be one who may read all of it.
func (s *Store) ThreadOrder(ctx context.Context, t store.Thread, fn func(store.OrderItem) error) error {
	poster, ok := column.Hex32(t.Poster)
	worker, named := column.Hex32(t.Worker)
	if !ok {
		return errors.New("the poster is no pubkey")
	}
	if !named {
		worker = poster
	}
	return s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		thread, err := threadOf(c, t.Contract, poster, worker)
		if err != nil || thread == 0 {
			return err
		}
		text, args := sqlOrderMoves+" UNION ALL "+sqlOrderGaps, []engine.Value{thread, thread}
		offer, err := threadOf(c, t.Contract, poster, poster)
		if err != nil {
			return err
		}
		if offer != thread && !t.Talk { // the offer counts with another pair, and is part of this one too
			text, args = text+" UNION ALL "+sqlOrderOffer, append(args, offer, poster, poster)
		}
		said := [][2][]byte{{poster, poster}, {poster, worker}, {worker, poster}}
		switch {
		case !named:
			said = said[:1]
		case t.Talk:
			said = said[1:]
		}
		for _, p := range said {
			text, args = text+" UNION ALL "+sqlOrderEntries, append(args, t.Contract, p[0], p[1])
		}
		return c.Query(ctx, text+" ORDER BY 1", args, func(v engine.Row) error { return fn(scanOrder(v)) })
	})
}

// threadOf returns the thread between two keys, 0 for none.
func threadOf(c *engine.Conn, contract string, k1, k2 []byte) (int64, error) {
	a, b, err := standIns(c, contract, k1, k2)
	if err != nil {
		return 0, err
	}
	return c.Number(sqlThreadOf, contract, a, b)
}

func scanOrder(v engine.Row) store.OrderItem {
	item := store.OrderItem{N: v.Int(0), ReceivedAt: v.Int(1), ID: v.Blob(2)}
	if item.ID == nil {
		item.Gap = &store.Gap{Type: v.Text(3), Role: v.Text(4), Status: v.Text(5), Previous: v.Text(6), CreatedAt: v.Int(7)}
	}
	return item
}
