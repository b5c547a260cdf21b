package events

import (
	"context"

	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

const (
	sqlStateHead = `SELECT created_at, json FROM events WHERE kind = 30091 AND author = ` + record.NumOf + ` AND d = ?`
	sqlStatePast = `SELECT created_at, json FROM history WHERE kind = 30091 AND pubkey = ? AND d = ? ORDER BY created_at DESC LIMIT ?`
)

// How many of a poster's states of one contract are looked through, and how
// many bytes of them.
const (
	maxStateEvents = 64
	maxStateBytes  = 512 << 10
)

// ContractStates are the state events of a contract by one author, about the
// newest first. Of a great many, or of long ones, the oldest are left out.
func (s *Store) ContractStates(ctx context.Context, contract, author string) (states [][]byte, err error) {
	who, ok := column.Hex32(author)
	if !ok {
		return nil, nil
	}
	size := 0
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		each := func(v []engine.Value) error {
			json, _ := v[1].([]byte)
			states = append(states, json)
			if size += len(json); size >= maxStateBytes {
				return engine.ErrStop
			}
			return nil
		}
		if err := c.Query(ctx, sqlStateHead, []engine.Value{who, column.Of(contract)}, each); err != nil || size >= maxStateBytes {
			return err
		}
		return c.Query(ctx, sqlStatePast, []engine.Value{who, column.Of(contract), int64(maxStateEvents)}, each)
	})
	return states, err
}
