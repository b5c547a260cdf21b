package contracts

import (
	"context"
	"fmt"

	"engramd/nips/niptemp"

	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	// A state event that may name the key, and whether the contract it belongs
	// to has an end.
	sqlStatesSaying = `SELECT json FROM events WHERE kind = ?1 AND instr(json, ?2) > 0
		UNION ALL SELECT json FROM history WHERE kind = ?1 AND instr(json, ?2) > 0`
	sqlUnfinishedOf = `SELECT 1 FROM contract_states WHERE contract = ?1 AND (a = ?2 OR b = ?2)
		AND status NOT IN ('completed', 'cancelled', 'expired')`
)

// maxNaming is as far as ContractsNaming counts.
const maxNaming = 1000

// ContractsNaming counts the ids of contracts without an end of which a state
// event names a key, in hex, as the one that may let them expire (the tag
// expirer), up to 1,000. It goes through all state events.
func (s *Store) ContractsNaming(ctx context.Context, pubkey string) (n int, err error) {
	seen := map[string]bool{}
	err = s.db.Whole(ctx, func(ctx context.Context, c *engine.Conn) error {
		args := []engine.Value{int64(niptemp.KindState), []byte(pubkey)}
		return c.Query(ctx, sqlStatesSaying, args, func(v []engine.Value) error {
			raw, _ := v[0].([]byte)
			ev, err := column.Event(raw)
			if err != nil {
				return fmt.Errorf("state event: %w", err)
			}
			id := ev.Tags.GetD()
			if tag := ev.Tags.Find(expirerTag); len(tag) < 2 || tag[1] != pubkey || seen[id] {
				return nil
			}
			author, _ := column.Hex32(ev.PubKey)
			unfinished, err := c.Exists(sqlUnfinishedOf, id, author)
			if err != nil || !unfinished {
				return err
			}
			if seen[id] = true; len(seen) >= maxNaming {
				return engine.ErrStop
			}
			return nil
		})
	})
	return len(seen), err
}

// expirerTag names, on a state event, the key that may let the contract expire
// (NIP-TEMP).
const expirerTag = "expirer"
