package contracts

import (
	"context"
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// A contract of which only entries are known is its parties' (contract_talks).
// Of several pairs under one id a key is shown the one that has two keys and
// came first: what a key says to itself is a contract while it says nothing to
// another.
const (
	columnsTalk = `contract, a, b, first, at`
	sqlTalk     = `SELECT ` + columnsTalk + ` FROM contract_talks WHERE contract = ?1 AND (a = ?2 OR b = ?2) ORDER BY a = b, n LIMIT 1`
	talksOf     = ` AND NOT EXISTS (SELECT 1 FROM contract_talks AS o WHERE o.contract = t.contract AND (o.a = ?1 OR o.b = ?1)
		AND (o.a = o.b, o.n) < (t.a = t.b, t.n))`
	talksOfLower  = `contract_talks AS t INDEXED BY contract_talks_of_a WHERE a = ?1` + talksOf
	talksOfHigher = `contract_talks AS t INDEXED BY contract_talks_of_b WHERE b = ?1 AND a <> ?1` + talksOf

	sqlTalksCount = `SELECT (SELECT count(*) FROM ` + talksOfLower + `) + (SELECT count(*) FROM ` + talksOfHigher + `)`
	sqlTalks      = `SELECT ` + columnsTalk + `, n FROM ` + talksOfLower + ` UNION ALL SELECT ` + columnsTalk + `, n FROM ` + talksOfHigher + `
		ORDER BY n DESC LIMIT ?2 OFFSET ?3`
)

// ContractTalk finds what a contract id of which no state is known means to one
// who has said or heard something under it, nil for nothing. Its status is "",
// and its poster is who spoke first.
func (s *Store) ContractTalk(ctx context.Context, contract, key string) (out *store.ContractPair, err error) {
	who, ok := column.Hex32(key)
	if !ok {
		return nil, nil
	}
	err = s.db.Read(ctx, engine.LookUp, func(_ context.Context, c *engine.Conn) error {
		row, err := c.One(sqlTalk, contract, who)
		if err == nil && row != nil {
			out, err = scanTalk(row)
		}
		return err
	})
	return out, err
}

// ContractTalks lists the contracts of a key of which only entries are known,
// the newest first, and how many there are.
func (s *Store) ContractTalks(ctx context.Context, key string, limit, offset int) (out []store.ContractPair, total int, err error) {
	who, ok := column.Hex32(key)
	if !ok {
		return nil, 0, nil
	}
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		n, err := c.Number(sqlTalksCount, who)
		total = int(n)
		if err != nil || limit <= 0 || offset >= total {
			return err
		}
		return c.Query(ctx, sqlTalks, []engine.Value{who, int64(limit), int64(offset)}, func(v []engine.Value) error {
			p, err := scanTalk(v)
			if err == nil {
				out = append(out, *p)
			}
			return err
		})
	})
	return out, total, err
}

// scanTalk reads columnsTalk.
func scanTalk(v []engine.Value) (*store.ContractPair, error) {
	contract, ok := v[0].(string)
	at, is := v[4].(int64)
	if !ok || !is {
		return nil, fmt.Errorf("contract without a state: %w", column.ErrDamaged)
	}
	p := &store.ContractPair{Contract: contract, Poster: column.HexOf(v[3]), MovedAt: at, At: at}
	for _, key := range v[1:3] {
		if k := column.HexOf(key); k != p.Poster {
			p.Worker = k
		}
	}
	return p, nil
}
