package events

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

const kindAppData = nostr.KindApplicationSpecificData

const sqlApproved = `SELECT 1 FROM events AS e INDEXED BY events_address CROSS JOIN tags AS t
	ON t.name='p' AND t.value=` + record.NumOf + ` AND t.created_at=e.created_at AND t.seq=e.seq
	WHERE e.kind=? AND e.author=` + record.NumOf + ` AND e.d=? AND (e.expires_at IS NULL OR e.expires_at>?)`

// Approved reports whether the list of approved agents of one of the owners (kind
// 30078 with d = engramd/agents, as stored now) names the agent. All are 64
// lower-case hex. It is a yes or no for the write policy, inside the relay: nothing
// that is read from the network may come to depend on it other than through that
// policy. It is one read, with a look-up for each owner until one names the agent:
// beginning a read takes longer than a look-up does. Errors are as of Query.
func (s *Store) Approved(ctx context.Context, owners []string, agent string) (named bool, err error) {
	if len(owners) == 0 {
		return false, nil
	}
	err = s.db.Read(ctx, engine.LookUp, func(_ context.Context, c *engine.Conn) error {
		named, err = approved(c, owners, agent, s.clock().Unix())
		return err
	})
	return named && err == nil, err
}

func approved(c *engine.Conn, owners []string, agent string, now int64) (bool, error) {
	agentKey, ok := column.Hex32(agent)
	if !ok {
		return false, nil
	}
	for _, owner := range owners {
		ownerKey, ok := column.Hex32(owner)
		if !ok {
			continue
		}
		named, err := c.Exists(sqlApproved, agentKey, int64(kindAppData), ownerKey, gate.ApprovalD, now)
		if named || err != nil {
			return named && err == nil, err
		}
	}
	return false, nil
}
