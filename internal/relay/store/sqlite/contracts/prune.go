package contracts

import (
	"time"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	// The statuses are those of the partial index contract_states_final.
	sqlFinalStates = `SELECT created_at, contract, a, b FROM contract_states
		WHERE status IN ('completed', 'cancelled', 'expired') AND created_at <= ?1
		AND (created_at, contract, a, b) > (?2, ?3, ?4, ?5) ORDER BY created_at, contract, a, b LIMIT ?6`
)

// Prune removes the history of pairs whose contract has been in a final state
// for longer than history.contract_days; by default there is no such time. It
// takes up to limit contracts and goes on where it stopped (done, forgotten at
// restart), so that old contracts are not looked at again every time.
func (w *Writer) Prune(limit int, done store.FinalPair) (int, error) {
	days := w.live().ContractDays
	if days <= 0 {
		return 0, nil
	}
	until := w.Now - int64(days)*int64(24*time.Hour/time.Second)
	n := 0
	args := []engine.Value{until, done.At, done.Contract, done.A, done.B, int64(limit)}
	err := w.c.Each(sqlFinalStates, args, func(row []engine.Value) error {
		contract, _ := row[1].(string)
		done = store.FinalPair{At: row[0].(int64), Contract: contract, A: row[2].([]byte), B: row[3].([]byte)}
		n++
		return w.forgetContract(done)
	})
	if err != nil {
		return 0, err
	}
	w.After(func() { w.done = done })
	return n, nil
}

// forgetContract removes what history holds of the contract between two keys,
// in both directions, and their private entries.
func (w *Writer) forgetContract(k store.FinalPair) error {
	for _, dir := range [][2][]byte{{k.A, k.B}, {k.B, k.A}} {
		if err := w.events.RemoveBetween(k.Contract, dir[0], dir[1]); err != nil {
			return err
		}
	}
	for _, dir := range [][2][]byte{{k.A, k.B}, {k.B, k.A}} {
		if _, err := w.Exec(sqlForgetPrivate, k.Contract, dir[0], dir[1]); err != nil {
			return err
		}
	}
	return nil
}
