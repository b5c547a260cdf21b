package contracts

import (
	"context"
	"fmt"
	"slices"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	// Private entries (form 2) are found in the small index of what is no event
	// of the relay.
	sqlAnyPrivate    = `SELECT 1 FROM contract_entries INDEXED BY contract_entries_private WHERE seq IS NULL AND form = 2 LIMIT 1`
	sqlSealedEntries = `SELECT contract, author, other, created_at, id, type, entry, data FROM contract_entries NOT INDEXED
		WHERE (contract, author, other, created_at, id) > (?, ?, ?, ?, ?) AND seq IS NULL AND form = 2
		ORDER BY contract, author, other, created_at, id LIMIT ?`
	sqlResealEntry = `UPDATE contract_entries SET data = ? WHERE contract = ? AND author = ? AND other = ? AND created_at = ? AND id = ?`
)

// resealed is how many values are held in memory at a time.
const resealed = 64

// PrivateEntries are sealed with the master key (identities.Sealed).
type PrivateEntries struct{}

// AnySealed reports whether there is any.
func (PrivateEntries) AnySealed(c *engine.Conn) (bool, error) { return c.Exists(sqlAnyPrivate) }

// Reseal calls put for each, with a statement that gives it its successor.
func (PrivateEntries) Reseal(ctx context.Context, c *engine.Conn, put func(v store.Sealed, text string, where ...engine.Value) error) error {
	for last := []engine.Value{"", []byte{}, []byte{}, int64(-1 << 63), []byte{}}; ; {
		var page []store.Sealed
		var keys [][]engine.Value
		err := c.Query(ctx, sqlSealedEntries, append(last[:5:5], int64(resealed)), func(v engine.Row) error {
			v = slices.Clone(v)
			contract, ok1 := v[0].(string)
			at, ok2 := v[3].(int64)
			kind, ok3 := v[5].(string)
			name, ok4 := v[6].(string)
			if !ok1 || !ok2 || !ok3 || !ok4 {
				return fmt.Errorf("private entry: %w", column.ErrDamaged)
			}
			e := &store.ThreadEntry{Author: v.Hex(1), Other: v.Hex(2), CreatedAt: at, ID: v.Blob(4), Form: store.EntryPrivate, Type: kind, Entry: name, Data: v.Blob(7)}
			page, keys = append(page, store.Sealed{Contract: contract, Entry: e, Value: e.Data}), append(keys, v[:5:5])
			return nil
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			if err := put(page[i], sqlResealEntry, keys[i]...); err != nil {
				return err
			}
		}
		last = keys[len(keys)-1]
	}
}
