package apply

import (
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	sqlUnquarantineID      = `DELETE FROM quarantine WHERE id = ? AND pubkey = ?`
	sqlUnquarantineAddress = `DELETE FROM quarantine WHERE pubkey = ? AND kind = ? AND d = ? AND created_at <= ?`
	sqlUnquarantineAuthor  = `DELETE FROM quarantine WHERE rowid IN
		(SELECT num FROM quarantine WHERE pubkey = ? AND created_at <= ? LIMIT ?)`
	sqlQuarantineExpired = `DELETE FROM quarantine WHERE rowid IN
		(SELECT num FROM quarantine WHERE expires_at <= ? LIMIT ?)`
	sqlQuarantineOld = `DELETE FROM quarantine WHERE rowid IN (SELECT num FROM quarantine WHERE moved_at <= ? LIMIT ?)`
)

// Unquarantine removes rows from quarantine that may not come back, and reports
// how many.
func (a *archive) Unquarantine(text string, args ...engine.Value) (int, error) {
	if !a.Known.quarantine {
		return 0, nil
	}
	n, err := a.Exec(text, args...)
	return int(n), err
}

// Quarantine copies a row of events or history to where no reader comes, under a
// name.
func (a *archive) Quarantine(name, table string, seq int64, isHead bool) error {
	a.seqGone = true
	a.Known.quarantine = true
	_, err := a.Exec(`INSERT INTO quarantine(restore, moved_at, head, id, pubkey, kind, d, created_at, expires_at, json)
		SELECT ?1, ?2, ?3, id, pubkey, kind, d, created_at, expires_at, json FROM `+table+` WHERE seq = ?4`,
		name, a.Now, column.Bool(isHead), seq)
	return err
}
