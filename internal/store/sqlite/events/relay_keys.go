package events

import (
	"context"
	"errors"
	"fmt"

	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
	"engramd/nips/niptemp"
)

const (
	sqlRelayKeys      = `SELECT pubkey, since, until, revoked_at FROM relay_keys ORDER BY until IS NOT NULL, until DESC, since DESC`
	sqlRelayKey       = `SELECT until, revoked_at FROM relay_keys WHERE pubkey = ?`
	sqlRetireRelayKey = `UPDATE relay_keys SET until = ?1, revoked_at = CASE WHEN ?2 THEN ?1 ELSE revoked_at END WHERE until IS NULL`
	sqlUseRelayKey    = `INSERT INTO relay_keys(pubkey, since) VALUES (?, ?) ON CONFLICT (pubkey) DO UPDATE SET until = NULL`
	sqlRevokeRelayKey = `UPDATE relay_keys SET revoked_at = ?2 WHERE pubkey = ?1 AND until IS NOT NULL AND revoked_at IS NULL`
	// A state event that may name the key, and whether the contract it belongs
	// to has an end.
	sqlStatesSaying = `SELECT json FROM events WHERE kind = ?1 AND instr(json, ?2) > 0
		UNION ALL SELECT json FROM history WHERE kind = ?1 AND instr(json, ?2) > 0`
	sqlUnfinishedOf = `SELECT 1 FROM contract_states WHERE contract = ?1 AND (a = ?2 OR b = ?2)
		AND status NOT IN ('completed', 'cancelled', 'expired')`
)

// RelayKeys lists the relay's identity keys: the one in use, then the former
// ones, the latest first.
func (s *Store) RelayKeys(ctx context.Context) (keys []store.RelayKey, err error) {
	err = s.db.Read(ctx, engine.LookUp, func(ctx context.Context, c *engine.Conn) error {
		return c.Query(ctx, sqlRelayKeys, nil, func(v []engine.Value) error {
			k := store.RelayKey{PubKey: hexOf(v[0])}
			k.Since, _ = v[1].(int64)
			k.Until, _ = v[2].(int64)
			k.Revoked, _ = v[3].(int64)
			keys = append(keys, k)
			return nil
		})
	})
	return keys, err
}

// SetRelayKey makes a key, in hex, the relay's identity key. The one that was
// becomes a former one, and is revoked with it if revoke says so. The error is
// ErrRevokedKey for a key that was revoked before.
func (s *Store) SetRelayKey(ctx context.Context, pubkey string, revoke bool) error {
	return s.tell(ctx, store.SetRelayKey{PubKey: pubkey, Revoke: revoke})
}

func (w *writer) setRelayKey(pubkey string, revoke bool) error {
	key, ok := lowerHex32(pubkey)
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
	if _, err := w.Exec(sqlRetireRelayKey, w.Now, revoke); err != nil {
		return err
	}
	_, err = w.Exec(sqlUseRelayKey, key, w.Now)
	return err
}

// RevokeRelayKey takes a former key, in hex, out of the trusted ones, and
// reports whether it was one.
func (s *Store) RevokeRelayKey(ctx context.Context, pubkey string) (revoked bool, err error) {
	return ask[bool](ctx, s, store.RevokeRelayKey{PubKey: pubkey})
}

func (w *writer) revokeRelayKey(pubkey string) (revoked bool, err error) {
	key, ok := lowerHex32(pubkey)
	if !ok {
		return false, nil
	}
	n, err := w.Exec(sqlRevokeRelayKey, key, w.Now)
	return n > 0 && err == nil, err
}

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
			ev, err := parsed(raw)
			if err != nil {
				return fmt.Errorf("state event: %w", err)
			}
			id := ev.Tags.GetD()
			if tag := ev.Tags.Find(expirerTag); len(tag) < 2 || tag[1] != pubkey || seen[id] {
				return nil
			}
			author, _ := lowerHex32(ev.PubKey)
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
// (30-nip-temp).
const expirerTag = "expirer"
