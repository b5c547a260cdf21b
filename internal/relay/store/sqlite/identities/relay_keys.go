package identities

import (
	"context"
	"errors"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	sqlRelayKeys      = `SELECT pubkey, since, until, revoked_at FROM relay_keys ORDER BY until IS NOT NULL, until DESC, since DESC`
	sqlRelayKey       = `SELECT until, revoked_at FROM relay_keys WHERE pubkey = ?`
	sqlRetireRelayKey = `UPDATE relay_keys SET until = ?1, revoked_at = CASE WHEN ?2 THEN ?1 ELSE revoked_at END WHERE until IS NULL`
	sqlUseRelayKey    = `INSERT INTO relay_keys(pubkey, since) VALUES (?, ?) ON CONFLICT (pubkey) DO UPDATE SET until = NULL`
	sqlRevokeRelayKey = `UPDATE relay_keys SET revoked_at = ?2 WHERE pubkey = ?1 AND until IS NOT NULL AND revoked_at IS NULL`
)

// RelayKeys lists the relay's identity keys: the one in use, then the former
// ones, the latest first.
func (s *Store) RelayKeys(ctx context.Context) (keys []store.RelayKey, err error) {
	return engine.ReadList(ctx, s.db, engine.LookUp, func(v engine.Row) (store.RelayKey, error) {
		return store.RelayKey{PubKey: v.Hex(0), Since: v.Int(1), Until: v.Int(2), Revoked: v.Int(3)}, nil
	}, sqlRelayKeys)
}

// SetRelayKey makes a key, in hex, the relay's identity key. The one that was
// becomes a former one, and is revoked with it if revoke says so. The error is
// ErrRevokedKey for a key that was revoked before.
func (s *Store) SetRelayKey(ctx context.Context, pubkey string, revoke bool) error {
	return s.orders.Tell(ctx, store.SetRelayKey{PubKey: pubkey, Revoke: revoke})
}

func (w *Writer) setRelayKey(pubkey string, revoke bool) error {
	key, ok := column.Hex32(pubkey)
	if !ok {
		return errors.New("a public key is 64 lower-case hex digits")
	}
	row, err := w.c.One(sqlRelayKey, key)
	switch {
	case err != nil:
		return err
	case row != nil && row[1] != nil:
		return store.ErrRevokedKey
	case row != nil && row[0] == nil:
		return nil // it is the one
	}
	return w.Run(engine.Do(sqlRetireRelayKey, w.Now, revoke), engine.Do(sqlUseRelayKey, key, w.Now))
}

// RevokeRelayKey takes a former key, in hex, out of the trusted ones, and
// reports whether it was one.
func (s *Store) RevokeRelayKey(ctx context.Context, pubkey string) (revoked bool, err error) {
	return store.Answer[bool](ctx, s.orders, store.RevokeRelayKey{PubKey: pubkey})
}

func (w *Writer) revokeRelayKey(pubkey string) (revoked bool, err error) {
	key, ok := column.Hex32(pubkey)
	if !ok {
		return false, nil
	}
	n, err := w.Exec(sqlRevokeRelayKey, key, w.Now)
	return n > 0 && err == nil, err
}
