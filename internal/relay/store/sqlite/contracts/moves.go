package contracts

import (
	"context"
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	// ?1 is the thread of a pair, ?2 the one of its offer, ?3 the poster. ?4 is
	// 0 where the pair is the offer alone, and ?5 is 0 for who sees nothing
	// that was withdrawn. Where another took the offer first it has a thread of
	// its own. To an offer alone belongs what its expirer says of it.
	movesOwn = ` FROM contract_moves WHERE thread = ?1 AND (?4 OR author = ?3 AND other = ?3 OR EXISTS (SELECT 1 FROM contract_verdicts AS v
		WHERE v.contract = contract_moves.contract AND v.id = contract_moves.id AND v.worker = v.poster)) AND (?5 OR withdrawn = 0)`
	movesOffer = ` FROM contract_moves WHERE thread = ?2 AND ?2 <> ?1 AND author = ?3 AND other = ?3 AND (?5 OR withdrawn = 0)`

	sqlMovesCount = `SELECT (SELECT count(*)` + movesOwn + `) + (SELECT count(*)` + movesOffer + `)`
	sqlMoves      = `SELECT m.n, m.arrived_at, m.withdrawn, m.request, coalesce(h.json, e.json)
		FROM (SELECT n, seq` + movesOwn + ` UNION ALL SELECT n, seq` + movesOffer + ` ORDER BY n, seq LIMIT ?6 OFFSET ?7) AS p
		CROSS JOIN contract_moves AS m ON m.seq = p.seq
		LEFT JOIN history AS h ON h.seq = p.seq LEFT JOIN events AS e ON e.seq = p.seq ORDER BY p.n, p.seq`
)

// ContractMoves lists the states of a pair and of the offer it accepted, in the
// order of arrival, and how many there are; without whole, those that were not
// withdrawn. A page ends with the one that brings it to maxBytes. A negative
// offset counts from the end.
func (s *Store) ContractMoves(ctx context.Context, p *store.ContractPair, whole bool, limit, offset, maxBytes int) (out []store.ThreadMove, total int, err error) {
	poster, ok1 := column.Hex32(p.Poster)
	worker, ok2 := column.Hex32(p.Worker)
	if !ok2 {
		worker, ok2 = poster, p.Worker == ""
	}
	if !ok1 || !ok2 {
		return nil, 0, column.ErrDamaged
	}
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		thread, err := threadOf(c, p.Contract, poster, worker)
		if err != nil {
			return err
		}
		offer, err := threadOf(c, p.Contract, poster, poster)
		if err != nil {
			return err
		}
		args := []engine.Value{thread, offer, poster, column.Bool(p.Worker != "" && p.Worker != p.Poster), column.Bool(whole)}
		n, err := c.Number(sqlMovesCount, args...)
		if err != nil {
			return err
		}
		total = int(n)
		if offset < 0 {
			offset = max(0, total+offset)
		}
		if offset >= total || limit <= 0 {
			return nil
		}
		size := 0
		return c.Query(ctx, sqlMoves, append(args, int64(limit), int64(offset)), func(v engine.Row) error {
			m := store.ThreadMove{N: v.Int(0), ArrivedAt: v.Int(1), Withdrawn: v.Int(2), Request: v.Blob(3), Data: v.Blob(4)}
			out = append(out, m)
			if size += len(m.Data); size >= maxBytes {
				return engine.ErrStop
			}
			return nil
		})
	})
	return out, total, err
}

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
	row, err := engine.Look(ctx, s.db, (*engine.Conn).One, sqlTalk, contract, who)
	if err != nil || row == nil {
		return nil, err
	}
	p, err := scanTalk(row)
	return &p, err
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
		out, err = engine.List(ctx, c, scanTalk, sqlTalks, who, int64(limit), int64(offset))
		return err
	})
	return out, total, err
}

// scanTalk reads columnsTalk.
func scanTalk(v engine.Row) (p store.ContractPair, err error) {
	contract, ok := v[0].(string)
	at, is := v[4].(int64)
	if !ok || !is {
		return p, fmt.Errorf("contract without a state: %w", column.ErrDamaged)
	}
	p = store.ContractPair{Contract: contract, Poster: v.Hex(3), MovedAt: at, At: at}
	for _, key := range v[1:3] {
		if k := column.HexOf(key); k != p.Poster {
			p.Worker = k
		}
	}
	return p, nil
}
