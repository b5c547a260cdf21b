package contracts

import (
	"context"

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
		a, b, err := standIns(c, p.Contract, poster, worker)
		if err != nil {
			return err
		}
		offers, err := standIn(c, p.Contract, poster)
		if err != nil {
			return err
		}
		thread, err := c.Number(sqlThreadOf, p.Contract, a, b)
		if err != nil {
			return err
		}
		offer, err := c.Number(sqlThreadOf, p.Contract, offers, offers)
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
		return c.Query(ctx, sqlMoves, append(args, int64(limit), int64(offset)), func(v []engine.Value) error {
			m := store.ThreadMove{}
			m.N, _ = v[0].(int64)
			m.ArrivedAt, _ = v[1].(int64)
			m.Withdrawn, _ = v[2].(int64)
			m.Request, _ = v[3].([]byte)
			m.Data, _ = v[4].([]byte)
			out = append(out, m)
			if size += len(m.Data); size >= maxBytes {
				return engine.ErrStop
			}
			return nil
		})
	})
	return out, total, err
}
