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
		a, b, err := standIns(c, t.Contract, poster, worker)
		if err != nil {
			return err
		}
		offers, err := standIn(c, t.Contract, poster)
		if err != nil {
			return err
		}
		thread, err := c.Number(sqlThreadOf, t.Contract, a, b)
		if err != nil || thread == 0 {
			return err
		}
		text, args := sqlOrderMoves+" UNION ALL "+sqlOrderGaps, []engine.Value{thread, thread}
		offer, err := c.Number(sqlThreadOf, t.Contract, offers, offers)
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
		return c.Query(ctx, text+" ORDER BY 1", args, func(v []engine.Value) error { return fn(scanOrder(v)) })
	})
}

func scanOrder(v []engine.Value) store.OrderItem {
	item := store.OrderItem{}
	item.N, _ = v[0].(int64)
	item.ReceivedAt, _ = v[1].(int64)
	if id, ok := v[2].([]byte); ok {
		item.ID = id
		return item
	}
	g := &store.Gap{}
	g.Type, _ = v[3].(string)
	g.Role, _ = v[4].(string)
	g.Status, _ = v[5].(string)
	g.Previous, _ = v[6].(string)
	g.CreatedAt, _ = v[7].(int64)
	item.Gap = g
	return item
}
