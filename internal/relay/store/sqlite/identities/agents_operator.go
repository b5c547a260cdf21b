package identities

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	sqlAgentsPage = `SELECT ` + agentColumns + ` FROM contract_agents AS a ORDER BY a.agent_id LIMIT ? OFFSET ?`
	sqlIsMade     = `SELECT 1 FROM contract_agents WHERE pubkey = ? AND provisioned = 1`
)

// AgentPage lists identities by their names, and says how many there are in
// all.
func (s *Store) AgentPage(ctx context.Context, limit, offset int) (page []*store.Agent, total int, err error) {
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		n, err := c.Number(sqlAgents)
		if err != nil {
			return err
		}
		total = int(n)
		page, err = engine.List(ctx, c, scanAgent, sqlAgentsPage, int64(limit), int64(offset))
		return err
	})
	return page, total, err
}

// AgentProvisioned reports whether the operator had the identity of a key (64
// hex digits) made.
func (s *Store) AgentProvisioned(ctx context.Context, pubkey string) (made bool, err error) {
	blob, ok := column.Hex32(pubkey)
	if !ok {
		return false, nil
	}
	return engine.Look(ctx, s.db, (*engine.Conn).Exists, sqlIsMade, blob)
}

func (w *Writer) dropAgent(id string, withKey bool) error {
	a, err := w.agent(sqlAgent, id)
	switch {
	case err != nil:
		return err
	case a == nil:
		return store.ErrNoAgent
	case a.Sealed != nil && !withKey:
		return store.ErrKeyKept
	}
	return w.Run(engine.Do(sqlDropTokens, id), engine.Do(sqlDropAgent, id))
}

func (w *Writer) dropTokens(id string) error {
	a, err := w.agent(sqlAgent, id)
	if err != nil {
		return err
	}
	if a == nil || a.Sealed == nil {
		return store.ErrNotHeld
	}
	return w.Do(sqlDropTokens, id)
}
