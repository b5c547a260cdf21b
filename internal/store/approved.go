package store

import (
	"bytes"
	"context"
	"slices"

	"engramd/internal/gate"
)

const kindAppData = 30078

// Approved reports whether the owner's list of approved agents (kind 30078 with d = engramd/agents, as stored now) names
// the agent. Both are 64 lower-case hex. It is a yes or no for the write policy, inside the relay: nothing that is read
// from the network may come to depend on it other than through that policy. Errors are as of Query.
func (s *Store) Approved(ctx context.Context, owner, agent string) (bool, error) {
	ownerKey, ok1 := lowerHex32(owner)
	agentKey, ok2 := lowerHex32(agent)
	if !ok1 || !ok2 {
		return false, nil
	}
	named := false
	err := s.read(ctx, func(ctx context.Context, c *conn) error {
		row, err := c.one(`SELECT readers FROM events INDEXED BY events_address
			WHERE kind=? AND pubkey=? AND d=? AND (expires_at IS NULL OR expires_at>?)`,
			int64(kindAppData), ownerKey, gate.ApprovalD, s.clock().Unix())
		if err != nil || row == nil {
			return err
		}
		agents, _ := row[0].([]byte)
		for key := range slices.Chunk(agents, 32) {
			named = named || bytes.Equal(key, agentKey)
		}
		return nil
	})
	return named, err
}
