package admin

import (
	"context"
	"errors"
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	sqlAudit = `INSERT INTO admin_audit(at, key, auth, address, method, params, digest, outcome, detail)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlAuditRead = `SELECT n, at, key, auth, address, method, params, digest, outcome, detail FROM admin_audit
		WHERE n IN (SELECT n FROM admin_audit WHERE at >= ? ORDER BY n DESC LIMIT ?) ORDER BY n`
	sqlAuditUsed = `SELECT auth, key, at FROM admin_audit WHERE at >= ? ORDER BY at, n`
)

// audit adds one row to the audit table.
func (w *Writer) audit(c store.AdminCall) error {
	who, ok1 := column.Hex32(c.Key)
	auth, ok2 := column.Hex32(c.Auth)
	if !ok1 || !ok2 {
		return errors.New("a call is recorded with a pubkey and an event id")
	}
	var params engine.Value
	if c.Params != nil {
		params = *c.Params
	}
	return w.Do(sqlAudit, w.Now, who, auth, c.Address, c.Method, params, c.Digest[:], c.Outcome, c.Detail)
}

// AdminAudit gives fn the newest calls since a time in Unix seconds, at most
// limit of them (0: all), oldest first.
func (s *Store) AdminAudit(ctx context.Context, since int64, limit int, fn func(store.AdminCall) error) error {
	most := int64(limit)
	if limit <= 0 {
		most = -1
	}
	return s.db.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		return c.Query(ctx, sqlAuditRead, []engine.Value{since, most}, func(v engine.Row) error {
			call, err := scanCall(v)
			if err != nil {
				return err
			}
			return fn(call)
		})
	})
}

func scanCall(v engine.Row) (c store.AdminCall, err error) {
	digest, ok := v[7].([]byte)
	if !ok || len(digest) != 32 {
		return c, fmt.Errorf("audit row %v: %w", v[0], column.ErrDamaged)
	}
	c = store.AdminCall{N: v.Int(0), At: v.Int(1), Key: v.Hex(2), Auth: v.Hex(3), Address: v.Text(4), Method: v.Text(5), Digest: [32]byte(digest),
		Outcome: v.Text(8), Detail: v.Text(9)}
	if params, ok := v[6].(string); ok {
		c.Params = &params
	}
	return c, nil
}

// AdminUsed gives fn the ids of NIP-98 events that signed calls since a time in
// Unix seconds, whose they were and when, in the order of that time: what the
// memory against replays has to know after a restart.
func (s *Store) AdminUsed(ctx context.Context, since int64, fn func(id, key string, at int64)) error {
	return s.db.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		return c.Query(ctx, sqlAuditUsed, []engine.Value{since}, func(v engine.Row) error {
			fn(v.Hex(0), v.Hex(1), v.Int(2))
			return nil
		})
	})
}
