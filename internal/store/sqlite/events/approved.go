package events

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/internal/store/sqlite/column"
	"engramd/internal/store/sqlite/engine"
)

const kindAppData = nostr.KindApplicationSpecificData

// Approved reports whether the owner's list of approved agents (kind 30078 with
// d = engramd/agents, as stored now) names the agent. Both are 64 lower-case
// hex. It is a yes or no for the write policy, inside the relay: nothing that
// is read from the network may come to depend on it other than through that
// policy. Errors are as of Query.
func (s *Store) Approved(ctx context.Context, owner, agent string) (named bool, err error) {
	err = s.db.Read(ctx, engine.LookUp, func(_ context.Context, c *engine.Conn) error {
		named, err = approved(c, owner, agent, s.clock().Unix())
		return err
	})
	return named, err
}

func approved(c *engine.Conn, owner, agent string, now int64) (bool, error) {
	ownerKey, ok1 := column.Hex32(owner)
	agentKey, ok2 := column.Hex32(agent)
	if !ok1 || !ok2 {
		return false, nil
	}
	return c.Exists(`SELECT 1 FROM events AS e INDEXED BY events_address CROSS JOIN tags AS t
		ON t.name='p' AND t.value=`+numOf+` AND t.created_at=e.created_at AND t.seq=e.seq
			WHERE e.kind=? AND e.author=`+numOf+` AND e.d=? AND (e.expires_at IS NULL OR e.expires_at>?)`,
		agentKey, int64(kindAppData), ownerKey, gate.ApprovalD, now)
}
