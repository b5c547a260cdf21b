package events

import (
	"context"
	"fmt"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const sqlEngramAuthors = `SELECT key FROM pubkeys WHERE EXISTS (SELECT 1 FROM events WHERE author = num AND kind = 30174) ORDER BY key`

// Agents lists the pubkeys (hex, sorted) that have engrams as heads. It needs
// the operator's scope.
func (s *Store) Agents(ctx context.Context, scope gate.Scope) (out []string, err error) {
	if !scope.All() {
		return nil, fmt.Errorf("%w: only the operator lists agents", store.ErrFilter)
	}
	err = s.db.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		return c.Query(ctx, sqlEngramAuthors, nil, func(row []engine.Value) error {
			out = append(out, column.HexOf(row[0]))
			return nil
		})
	})
	return out, err
}

// SchemaVersion is the number of the last migration that the open database has.
func (s *Store) SchemaVersion(ctx context.Context) (version int64, err error) {
	err = s.db.Read(ctx, engine.LookUp, func(_ context.Context, c *engine.Conn) error {
		version, err = c.Number("PRAGMA user_version")
		return err
	})
	return version, err
}
