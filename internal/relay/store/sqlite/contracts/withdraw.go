package contracts

import (
	"engramd/nips/niptemp"

	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// What an author takes back of contract memory (NIP-09) is withdrawn: it leaves
// events and the full-text index, and stays in history and in its thread, with
// the time and the request, for those whose conversation it is. What a state
// did stands.

const (
	sqlWithdrawEntries = `UPDATE contract_entries SET withdrawn = ?1, request = ?2 WHERE withdrawn = 0 AND seq IN `
	sqlWithdrawMoves   = `UPDATE contract_moves SET withdrawn = ?1, request = ?2 WHERE withdrawn = 0 AND seq IN `
	sqlWithdrawWaiting = `UPDATE contract_entries INDEXED BY contract_entries_private SET withdrawn = ?1, request = ?2
		WHERE withdrawn = 0 AND author = ?3 AND seq IS NULL AND form < 2 AND `
	sqlAnyWaiting = `SELECT 1 FROM contract_entries INDEXED BY contract_entries_private WHERE author = ? AND seq IS NULL AND form < 2 LIMIT 1`

	ofOwnAddress = `(SELECT seq FROM history WHERE kind = ?3 AND pubkey = ?4 AND d = ?5 AND created_at <= ?6)`
	ofSeq        = `(?3)`
)

// Withdrawn marks what is stored under seq as taken back by a request, nil where
// it is not known.
func (w *threads) Withdrawn(request []byte, seq int64) error {
	return w.withdraw(request, ofSeq, seq)
}

// withdraw marks what the request r takes back, of those whose seq a query
// selects.
func (w *threads) withdraw(request []byte, which string, args ...engine.Value) error {
	args = append([]engine.Value{w.Now, column.BytesOrNil(request)}, args...)
	for _, text := range []string{sqlWithdrawEntries, sqlWithdrawMoves} {
		if _, err := w.Exec(text+which, args...); err != nil {
			return err
		}
	}
	return nil
}

// Waiting reports whether an author has shared entries here that are no events
// yet.
func (w *threads) Waiting(author []byte) (bool, error) { return w.c.Exists(sqlAnyWaiting, author) }

// WithdrawnWaiting withdraws such an entry by its id.
func (w *threads) WithdrawnWaiting(request, author, id []byte) error {
	_, err := w.Exec(sqlWithdrawWaiting+"id = ?4", w.Now, request, author, id)
	return err
}

// WithdrawnAddress withdraws all versions of an address of contract memory up to
// the request's time.
func (w *threads) WithdrawnAddress(request, author []byte, kind int, d engine.Value, until int64) error {
	if err := w.withdraw(request, ofOwnAddress, int64(kind), author, d, until); err != nil || kind != niptemp.KindEntry {
		return err
	}
	_, err := w.Exec(sqlWithdrawWaiting+"contract = ?4 AND created_at <= ?5", w.Now, request, author, contractOf(d), until)
	return err
}

// contractOf is the contract id in a column d.
func contractOf(d engine.Value) string {
	if text, ok := d.(string); ok {
		return text
	}
	return column.HexOf(d)
}
