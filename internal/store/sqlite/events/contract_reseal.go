package events

import (
	"bytes"
	"context"
	"fmt"

	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
)

const (
	sqlSealedAgents  = `SELECT ` + agentColumns + ` FROM contract_agents AS a WHERE a.sealed IS NOT NULL AND a.agent_id > ? ORDER BY a.agent_id LIMIT ?`
	sqlResealAgent   = `UPDATE contract_agents SET sealed = ? WHERE agent_id = ?`
	sqlSealedEntries = `SELECT contract, author, other, created_at, id, type, entry, data FROM contract_entries NOT INDEXED
		WHERE (contract, author, other, created_at, id) > (?, ?, ?, ?, ?) AND seq IS NULL AND form = 2
		ORDER BY contract, author, other, created_at, id LIMIT ?`
	sqlResealEntry = `UPDATE contract_entries SET data = ? WHERE contract = ? AND author = ? AND other = ? AND created_at = ? AND id = ?`
)

// resealed is how many values are held in memory at a time.
const resealed = 64

// Reseal seals everything anew, under another master key: again is given each
// value and returns the one to take its place. That, and the check value of the
// new key in place of that of the present one, is one commit. n is how many
// values there were. The error is ErrOtherVault when the present key is not the
// one of check value was, else what again says.
func (s *Store) Reseal(ctx context.Context, was, now []byte, again func(store.Sealed) ([]byte, error)) (n int, err error) {
	err = s.apart(ctx, func(w *writer) error {
		n = 0
		row, err := w.c.One(sqlVaultCheck)
		if err != nil {
			return err
		}
		if row == nil || !bytes.Equal(row[0].([]byte), was) {
			return store.ErrOtherVault
		}
		r := reseal{ctx: ctx, w: w, again: again}
		if err := r.agents(); err != nil {
			return err
		}
		if err := r.entries(); err != nil {
			return err
		}
		n = r.n
		return w.SetMeta("contracts_key", now)
	})
	return n, err
}

type reseal struct {
	ctx   context.Context
	w     *writer
	again func(store.Sealed) ([]byte, error)
	n     int
}

// put gives a value its successor.
func (r *reseal) put(v store.Sealed, text string, where ...engine.Value) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	value, err := r.again(v)
	if err != nil {
		return err
	}
	r.n++
	_, err = r.w.Exec(text, append([]engine.Value{value}, where...)...)
	return err
}

func (r *reseal) agents() error {
	for last := ""; ; {
		var page []*store.Agent
		err := r.w.c.Query(r.ctx, sqlSealedAgents, []engine.Value{last, int64(resealed)}, func(v []engine.Value) error {
			a, err := scanAgent(v)
			page = append(page, a)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, a := range page {
			if err := r.put(store.Sealed{Agent: a, Value: a.Sealed}, sqlResealAgent, a.ID); err != nil {
				return err
			}
		}
		last = page[len(page)-1].ID
	}
}

func (r *reseal) entries() error {
	for last := []engine.Value{"", []byte{}, []byte{}, int64(-1 << 63), []byte{}}; ; {
		var page []store.Sealed
		var keys [][]engine.Value
		err := r.w.c.Query(r.ctx, sqlSealedEntries, append(last[:5:5], int64(resealed)), func(v []engine.Value) error {
			v = append([]engine.Value(nil), v...)
			contract, ok1 := v[0].(string)
			at, ok2 := v[3].(int64)
			kind, ok3 := v[5].(string)
			name, ok4 := v[6].(string)
			if !ok1 || !ok2 || !ok3 || !ok4 {
				return fmt.Errorf("private entry: %w", errStoredRow)
			}
			e := &store.ThreadEntry{Author: hexOf(v[1]), Other: hexOf(v[2]), CreatedAt: at, Form: store.EntryPrivate, Type: kind, Entry: name}
			e.ID, _ = v[4].([]byte)
			e.Data, _ = v[7].([]byte)
			page, keys = append(page, store.Sealed{Contract: contract, Entry: e, Value: e.Data}), append(keys, v[:5:5])
			return nil
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			if err := r.put(page[i], sqlResealEntry, keys[i]...); err != nil {
				return err
			}
		}
		last = keys[len(keys)-1]
	}
}
