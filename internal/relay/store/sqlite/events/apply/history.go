package apply

import (
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
	"engramd/nips/niptemp"
)

const (
	sqlBeyondVersions = `SELECT seq, pubkey, length(json) FROM history WHERE kind = ? AND pubkey = ? AND d = ?
		ORDER BY created_at DESC, id LIMIT -1 OFFSET ?`
	// The kinds are those of the partial index history_age.
	sqlBeyondDays = `SELECT seq, pubkey, length(json) FROM history WHERE kind NOT IN (30090, 30091) AND superseded_at <= ?
		ORDER BY superseded_at LIMIT ?`
	sqlContractHistory = `SELECT seq, pubkey, length(json) FROM history
		WHERE kind = ?1 AND pubkey = ?2 AND d = ?3 AND readers = ?4`
	sqlDeleteHistory = `DELETE FROM history WHERE seq = ?`
)

// pruneAddress removes the versions of the record's address beyond
// history.versions. Contract memory has no such limit.
func (a *archive) pruneAddress(r *record.Record) error {
	if record.IsContract(r.Event.Kind) {
		return nil
	}
	_, err := a.RemoveHistory(byPruning, sqlBeyondVersions, int64(r.Event.Kind), r.Pubkey, r.D, int64(a.Options().Versions))
	return err
}

// RemoveHistory removes the versions that a query selects as seq, pubkey,
// length(json), and reports how many.
func (a *archive) RemoveHistory(why reason, text string, args ...engine.Value) (int, error) {
	n := 0
	err := a.Conn().Each(text, args, func(row []engine.Value) error {
		n++
		return a.dropVersion(why, row[0].(int64), record.Pubkey(row[1].([]byte)), row[2].(int64))
	})
	return n, err
}

// dropVersion removes one version of size bytes from history.
func (a *archive) dropVersion(why reason, seq int64, of record.Pubkey, size int64) error {
	a.seqGone = true
	if _, err := a.Exec(sqlDeleteHistory, seq); err != nil {
		return err
	}
	if err := a.Others.Contracts.Removed(column.AnyKind, seq); err != nil {
		return err
	}
	a.Usage.Count(of, -1, -size)
	a.count(why, 1)
	return nil
}

// RemoveBetween removes what history holds of a contract by one key that is
// addressed to another.
func (a *archive) RemoveBetween(contract string, from, to []byte) error {
	for _, kind := range []int64{niptemp.KindEntry, niptemp.KindState} {
		if _, err := a.RemoveHistory(byPruning, sqlContractHistory, kind, from, column.Of(contract), to); err != nil {
			return err
		}
	}
	return nil
}
