package store

import (
	"context"
	"database/sql/driver"
)

// ThreadMove is one state event between the two parties of a contract.
type ThreadMove struct {
	ArrivedAt int64
	Data      []byte // the event's JSON
}

const (
	// What one key has said of a contract's state to either of two keys: the newest is a head, the others are history. In
	// events the column readers has a key's number, in history the key.
	statesSaid = `SELECT seq FROM events WHERE kind = 30091 AND author = (SELECT +num FROM pubkeys WHERE key = ?1) AND d = ?2
		AND readers IN (SELECT num FROM pubkeys WHERE key IN (?3, ?4)) AND (expires_at IS NULL OR expires_at > ?5)
		UNION ALL SELECT seq FROM history INDEXED BY history_address WHERE kind = 30091 AND pubkey = ?1 AND d = ?2
		AND readers IN (?3, ?4) AND (expires_at IS NULL OR expires_at > ?5)`
	// The worker is ?4 and says what concerns the contract to the poster only.
	statesOfPair = statesSaid + ` UNION ALL SELECT seq FROM events WHERE kind = 30091
		AND author = (SELECT +num FROM pubkeys WHERE key = ?4) AND d = ?2 AND ?4 <> ?1
		AND readers = (SELECT num FROM pubkeys WHERE key = ?1) AND (expires_at IS NULL OR expires_at > ?5)
		UNION ALL SELECT seq FROM history INDEXED BY history_address WHERE kind = 30091 AND pubkey = ?4 AND d = ?2 AND ?4 <> ?1
		AND readers = ?1 AND (expires_at IS NULL OR expires_at > ?5)`

	sqlMovesCount = `SELECT count(*) FROM (` + statesOfPair + `)`
	sqlMoves      = `SELECT coalesce(h.arrived_at, e.arrived_at), coalesce(h.json, e.json)
		FROM (SELECT seq FROM (` + statesOfPair + `) ORDER BY seq LIMIT ?6 OFFSET ?7) AS p
		LEFT JOIN history AS h ON h.seq = p.seq LEFT JOIN events AS e ON e.seq = p.seq ORDER BY p.seq`
)

// ContractMoves lists the state events of a pair and of the offer it accepted, in the order in which they came, and how many
// there are. A page ends with the one that brings it to maxBytes. A negative offset counts from the end.
func (s *Store) ContractMoves(ctx context.Context, p *ContractPair, limit, offset, maxBytes int) (out []ThreadMove, total int, err error) {
	poster, ok1 := lowerHex32(p.Poster)
	worker, ok2 := lowerHex32(p.Worker)
	if !ok2 {
		worker, ok2 = poster, p.Worker == ""
	}
	if !ok1 || !ok2 {
		return nil, 0, errStoredRow
	}
	err = s.snapshot(ctx, scan, func(ctx context.Context, c *conn) error {
		args := []driver.Value{poster, key(p.Contract), poster, worker, s.clock().Unix()}
		n, err := c.number(sqlMovesCount, args...)
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
		return c.query(ctx, sqlMoves, append(args, int64(limit), int64(offset)), func(v []driver.Value) error {
			m := ThreadMove{}
			m.ArrivedAt, _ = v[0].(int64)
			m.Data, _ = v[1].([]byte)
			out = append(out, m)
			if size += len(m.Data); size >= maxBytes {
				return errStop
			}
			return nil
		})
	})
	return out, total, err
}
