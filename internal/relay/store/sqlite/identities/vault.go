package identities

import (
	"bytes"
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	sqlVaultCheck = `SELECT value FROM meta WHERE key = 'contracts_key'`
	sqlAnySealed  = `SELECT 1 FROM contract_agents WHERE sealed IS NOT NULL LIMIT 1`
)

// Sealed is what else is sealed with the master key.
type Sealed interface {
	AnySealed(c *engine.Conn) (bool, error)
	// Reseal calls put for each sealed value, with a statement that gives it
	// its successor.
	Reseal(ctx context.Context, c *engine.Conn, put PutSealed) error
}

// PutSealed has a value sealed anew. The statement's first argument is the
// successor, the others follow.
type PutSealed = func(v store.Sealed, text string, where ...engine.Value) error

// anySealed reports whether anything is sealed with the master key.
func anySealed(c *engine.Conn, others Sealed) (bool, error) {
	if any, err := c.Exists(sqlAnySealed); err != nil || any {
		return any, err
	}
	return others.AnySealed(c)
}

// VaultCheck is the check value of the master key with which something in this
// database is sealed; nil when nothing is.
func (s *Store) VaultCheck(ctx context.Context) (check []byte, err error) {
	err = s.db.Snapshot(ctx, engine.LookUp, func(ctx context.Context, c *engine.Conn) error {
		if any, err := anySealed(c, s.others); err != nil || !any {
			return err
		}
		check, err = c.Blob(sqlVaultCheck)
		return err
	})
	return check, err
}

// MasterKey is the check value of the master key that was in use last, whether
// or not anything is sealed with it; nil before there was one.
func (s *Store) MasterKey(ctx context.Context) (check []byte, err error) {
	return engine.Look(ctx, s.db, (*engine.Conn).Blob, sqlVaultCheck)
}

// SetVaultCheck remembers the master key's check value, and reports whether it
// is a new one. The error is ErrOtherVault when something is sealed with
// another key.
func (s *Store) SetVaultCheck(ctx context.Context, check []byte) (changed bool, err error) {
	return store.Answer[bool](ctx, s.orders, store.SetVaultCheck{Check: check})
}

func (w *Writer) setVaultCheck(check []byte) (changed bool, err error) {
	row, err := w.c.One(sqlVaultCheck)
	if err != nil {
		return false, err
	}
	if row != nil {
		if have, _ := row[0].([]byte); bytes.Equal(have, check) {
			return false, nil
		}
		if any, err := anySealed(w.c, w.others); err != nil {
			return false, err
		} else if any {
			return false, store.ErrOtherVault
		}
	}
	return true, w.SetMeta("contracts_key", check)
}
