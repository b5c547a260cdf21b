package sqlite

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// unsigned is what was acknowledged and no event says, by its kind. A row is what tells
// one from all others, in the order that store.Unsigned names.
var unsigned = []struct {
	kind store.UnsignedKind
	sql  string
}{
	{store.UnsignedCall, `SELECT method, coalesce(params, '[]'), lower(hex(key)), lower(hex(auth)), lower(hex(digest)), CAST(at AS TEXT) FROM admin_audit
		WHERE outcome = 'ok' AND method NOT LIKE 'list%' AND method <> 'supportedmethods' ORDER BY n`},
	{store.UnsignedIdentity, `SELECT agent_id, lower(hex(pubkey)), CASE WHEN provisioned = 0 THEN 'bind' WHEN sealed IS NULL THEN 'claim' ELSE 'provision' END
		FROM contract_agents ORDER BY agent_id`},
	{store.UnsignedToken, `SELECT agent_id, lower(hex(hash)) FROM contract_tokens ORDER BY agent_id`},
	{store.UnsignedEntry, `SELECT contract, type, lower(hex(author)), lower(hex(other)), entry FROM contract_entries WHERE seq IS NULL AND form = 2
		ORDER BY contract, created_at`},
	{store.UnsignedDecision, `SELECT contract, status, note, lower(hex(a)), lower(hex(b)) FROM contract_decisions WHERE event IS NULL AND by <> 'deadline' ORDER BY n`},
}

// Unsigned gives fn what no event says, for an operator who compares databases.
func (s *Store) Unsigned(ctx context.Context, fn func(store.Unsigned) error) error {
	return s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		for _, u := range unsigned {
			err := c.Query(ctx, u.sql, nil, func(v engine.Row) error {
				one := store.Unsigned{Kind: u.kind}
				for i := range v {
					one.Row = append(one.Row, v.Text(i))
				}
				return fn(one)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
