package events

import (
	"bytes"
	"context"

	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
)

const (
	sqlVaultCheck = `SELECT value FROM meta WHERE key = 'contracts_key'`
	// Private entries (form 2) are found in the small index of what is no event
	// of the relay.
	sqlAnySealed = `SELECT EXISTS (SELECT 1 FROM contract_agents WHERE sealed IS NOT NULL) OR
		EXISTS (SELECT 1 FROM contract_entries INDEXED BY contract_entries_private WHERE seq IS NULL AND form = 2)`
)

// VaultCheck is the check value of the master key with which something in this
// database is sealed; nil when nothing is.
func (s *Store) VaultCheck(ctx context.Context) (check []byte, err error) {
	err = s.db.Snapshot(ctx, engine.LookUp, func(ctx context.Context, c *engine.Conn) error {
		if sealed, err := c.Number(sqlAnySealed); err != nil || sealed == 0 {
			return err
		}
		return c.Query(ctx, sqlVaultCheck, nil, func(v []engine.Value) error {
			check, _ = v[0].([]byte)
			return nil
		})
	})
	return check, err
}

// MasterKey is the check value of the master key that was in use last, whether
// or not anything is sealed with it; nil before there was one.
func (s *Store) MasterKey(ctx context.Context) (check []byte, err error) {
	err = s.db.Read(ctx, engine.LookUp, func(ctx context.Context, c *engine.Conn) error {
		row, err := c.One(sqlVaultCheck)
		if row != nil {
			check, _ = row[0].([]byte)
		}
		return err
	})
	return check, err
}

// SetVaultCheck remembers the master key's check value, and reports whether it
// is a new one. The error is ErrOtherVault when something is sealed with
// another key.
func (s *Store) SetVaultCheck(ctx context.Context, check []byte) (changed bool, err error) {
	return ask[bool](ctx, s, store.SetVaultCheck{Check: check})
}

func (w *writer) setVaultCheck(check []byte) (changed bool, err error) {
	row, err := w.c.One(sqlVaultCheck)
	if err != nil {
		return false, err
	}
	if row != nil {
		if have, _ := row[0].([]byte); bytes.Equal(have, check) {
			return false, nil
		}
		if sealed, err := w.c.Number(sqlAnySealed); err != nil {
			return false, err
		} else if sealed != 0 {
			return false, store.ErrOtherVault
		}
	}
	return true, w.SetMeta("contracts_key", check)
}
