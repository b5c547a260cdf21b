package contracts

import (
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
)

const (
	sqlIndexEntry = `INSERT INTO contract_entries(contract, author, other, created_at, id, form, type, entry, arrived_at, n, seq, thread)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlEntryCame = `UPDATE contract_entries SET seq = ?6, data = NULL
		WHERE contract = ?1 AND author = ?2 AND other = ?3 AND created_at = ?4 AND id = ?5`
	sqlUnindexEntry = `DELETE FROM contract_entries WHERE seq = ?`
	sqlEntryTaken   = `SELECT 1 FROM contract_entries WHERE contract = ?1 AND entry = ?2
		AND (author = ?3 AND other = ?4 OR author = ?4 AND other = ?3 OR author = ?3 AND other = ?3 OR author = ?4 AND other = ?4)
		AND id <> ?5 LIMIT 1`
	sqlForgetPrivate = `DELETE FROM contract_entries WHERE contract = ? AND author = ? AND other = ? AND seq IS NULL`
	sqlVanishPrivate = `DELETE FROM contract_entries WHERE author = ? AND arrived_at <= ? AND seq IS NULL`
)

// entryDigits is how many hex digits an entry id has behind its prefix.
const entryDigits = 12

// entryPrefix begins every entry id.
const entryPrefix = "mem_"

// indexEntry gives an entry its place and its number.
func (w *threads) indexEntry(r *record, form store.EntryForm, seq int64) error {
	_, other := pair(r.ev)
	to, ok := column.Hex32(other)
	kind := r.ev.Tags.Find("t")
	if !ok || len(kind) < 2 {
		return nil
	}
	contract := r.ev.Tags.GetD()
	// One that was not taken at first already has its place.
	if n, err := w.Exec(sqlEntryCame, contract, r.pubkey, to, r.created, r.id, seq); err != nil || n > 0 {
		return err
	}
	name, err := w.entryName(r, to)
	if err != nil {
		return err
	}
	thread, err := w.thread(contract, r.pubkey, to)
	if err != nil {
		return err
	}
	n, err := w.next(thread)
	if err != nil {
		return err
	}
	_, err = w.Exec(sqlIndexEntry, contract, r.pubkey, to, r.created, r.id, int64(form), kind[1], name, w.Now, n, seq, thread)
	return err
}

// entryName is the id of a shared entry: what its author calls it, if that is
// an entry id that the thread does not have, else one made from the event's id.
func (w *threads) entryName(r *record, other []byte) (string, error) {
	own := entryPrefix + r.ev.ID[:entryDigits]
	tag := r.ev.Tags.Find("agentry:entry")
	if len(tag) < 2 || !isEntryID(tag[1]) {
		return own, nil
	}
	taken, err := w.c.Exists(sqlEntryTaken, r.ev.Tags.GetD(), tag[1], r.pubkey, other, r.id)
	if err != nil || !taken {
		return tag[1], err
	}
	return own, nil
}

// isEntryID reports whether s is "mem_" and 12 lower-case hex digits.
func isEntryID(s string) bool {
	return len(s) == len(entryPrefix)+entryDigits && s[:len(entryPrefix)] == entryPrefix && column.IsHex([]byte(s[len(entryPrefix):]))
}
