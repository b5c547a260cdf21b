package identities

import (
	"bytes"
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	sqlSealedAgents = `SELECT ` + agentColumns + ` FROM contract_agents AS a WHERE a.sealed IS NOT NULL AND a.agent_id > ? ORDER BY a.agent_id LIMIT ?`
	sqlResealAgent  = `UPDATE contract_agents SET sealed = ? WHERE agent_id = ?`
)

// resealed is how many values are held in memory at a time.
const resealed = 64

// Reseal gives all that is sealed its successor: again is given each value and
// returns the one to take its place. That, and the check value of the new key in
// place of that of the present one, is part of the transaction under way. n is
// how many values there were. The error is ErrOtherVault when the present key is
// not the one of check value was, else what again says.
func (w *Writer) Reseal(ctx context.Context, was, now []byte, again func(store.Sealed) ([]byte, error)) (n int, err error) {
	row, err := w.c.One(sqlVaultCheck)
	if err != nil {
		return 0, err
	}
	if row == nil || !bytes.Equal(row[0].([]byte), was) {
		return 0, store.ErrOtherVault
	}
	put := func(v store.Sealed, text string, where ...engine.Value) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		value, err := again(v)
		if err != nil {
			return err
		}
		n++
		_, err = w.Exec(text, append([]engine.Value{value}, where...)...)
		return err
	}
	if err := w.resealAgents(ctx, put); err != nil {
		return 0, err
	}
	if err := w.others.Reseal(ctx, w.c, put); err != nil {
		return 0, err
	}
	return n, w.SetMeta("contracts_key", now)
}

func (w *Writer) resealAgents(ctx context.Context, put PutSealed) error {
	for last := ""; ; {
		var page []*store.Agent
		err := w.c.Query(ctx, sqlSealedAgents, []engine.Value{last, int64(resealed)}, func(v []engine.Value) error {
			a, err := scanAgent(v)
			page = append(page, a)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, a := range page {
			if err := put(store.Sealed{Agent: a, Value: a.Sealed}, sqlResealAgent, a.ID); err != nil {
				return err
			}
		}
		last = page[len(page)-1].ID
	}
}
