package events

import (
	"time"

	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
	"engramd/nips/niptemp"
)

const (
	sqlBeyondVersions = `SELECT seq, pubkey, length(json) FROM history WHERE kind = ? AND pubkey = ? AND d = ?
		ORDER BY created_at DESC, id LIMIT -1 OFFSET ?`
	// The kinds are those of the partial index history_age.
	sqlBeyondDays = `SELECT seq, pubkey, length(json) FROM history WHERE kind NOT IN (30090, 30091) AND superseded_at <= ?
		ORDER BY superseded_at LIMIT ?`
	// The statuses are those of the partial index contract_states_final.
	sqlFinalStates = `SELECT created_at, contract, a, b FROM contract_states
		WHERE status IN ('completed', 'cancelled', 'expired') AND created_at <= ?1
		AND (created_at, contract, a, b) > (?2, ?3, ?4, ?5) ORDER BY created_at, contract, a, b LIMIT ?6`
	sqlContractHistory = `SELECT seq, pubkey, length(json) FROM history
		WHERE kind = ?1 AND pubkey = ?2 AND d = ?3 AND readers = ?4`
	sqlDeleteHistory = `DELETE FROM history WHERE seq = ?`
)

// pruneAddress removes the versions of the record's address beyond
// history.versions. Contract memory has no such limit.
func (w *writer) pruneAddress(r *record) error {
	if isContract(r.ev.Kind) {
		return nil
	}
	_, err := w.removeHistory(byPruning, sqlBeyondVersions, int64(r.ev.Kind), r.pubkey, r.d, int64(w.s.live.Load().Versions))
	return err
}

// removeHistory removes the versions that a query selects as seq, pubkey,
// length(json), and reports how many.
func (w *writer) removeHistory(why reason, text string, args ...engine.Value) (int, error) {
	n := 0
	err := w.c.Each(text, args, func(row []engine.Value) error {
		n++
		return w.dropVersion(why, row[0].(int64), author(row[1].([]byte)), row[2].(int64))
	})
	return n, err
}

// dropVersion removes one version of size bytes from history.
func (w *writer) dropVersion(why reason, seq int64, of author, size int64) error {
	w.stage.seqGone = true
	if _, err := w.Exec(sqlDeleteHistory, seq); err != nil {
		return err
	}
	if err := w.forgetPlace(seq); err != nil {
		return err
	}
	w.count(of, -1, -size)
	w.removed(why, 1)
	return nil
}

// pruneDays removes up to limit versions superseded longer ago than
// history.days.
func (w *writer) pruneDays(limit int) (int, error) {
	days := w.s.live.Load().Days
	if days < 0 {
		return 0, nil
	}
	return w.removeHistory(byPruning, sqlBeyondDays, w.Now-int64(days)*secondsPerDay, int64(limit))
}

// pruneContracts removes the history of pairs whose contract has been in a
// final state for longer than history.contract_days; by default there is no
// such time. It takes up to limit contracts and goes on where it stopped
// (w.contractsDone, forgotten at restart), so that old contracts are not looked
// at again every time.
func (w *writer) pruneContracts(limit int, done store.FinalPair) (int, error) {
	days := w.s.live.Load().ContractDays
	if days <= 0 {
		return 0, nil
	}
	until := w.Now - int64(days)*secondsPerDay
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
	w.After(func() { w.contractsDone = done })
	return n, nil
}

// forgetContract removes what history holds of the contract between two keys,
// in both directions, and their private entries.
func (w *writer) forgetContract(k store.FinalPair) error {
	for _, kind := range []int64{niptemp.KindEntry, niptemp.KindState} {
		for _, dir := range [][2][]byte{{k.A, k.B}, {k.B, k.A}} {
			if _, err := w.removeHistory(byPruning, sqlContractHistory, kind, dir[0], key(k.Contract), dir[1]); err != nil {
				return err
			}
		}
	}
	for _, dir := range [][2][]byte{{k.A, k.B}, {k.B, k.A}} {
		if _, err := w.Exec(sqlForgetPrivate, k.Contract, dir[0], dir[1]); err != nil {
			return err
		}
	}
	return nil
}

const secondsPerDay = int64(24 * time.Hour / time.Second)
