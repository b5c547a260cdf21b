package apply

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
	"engramd/nips/nip01"
	"engramd/nips/niptemp"
)

const (
	sqlBeyondVersions = `SELECT seq, pubkey, length(json) FROM history WHERE kind = ? AND pubkey = ? AND d = ?
		ORDER BY created_at DESC, id LIMIT -1 OFFSET ?`
	sqlVersions = `SELECT count(*) FROM history WHERE kind = ? AND pubkey = ? AND d = ?`
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
	most := int64(a.Options().Versions)
	if a.room.left(r, most) > 0 {
		return nil
	}
	address := []engine.Value{int64(r.Event.Kind), r.Pubkey, r.D}
	_, err := a.RemoveHistory(byPruning, sqlBeyondVersions, append(address, most)...)
	if err != nil || most <= walked {
		return err
	}
	n, err := a.Conn().Number(sqlVersions, address...)
	if err == nil {
		a.room.of(r, most, most-n)
	}
	return err
}

// Of addresses beyond the last ones, and of a bound that is as quickly walked, it is not
// known how many versions there may still be.
const (
	walked     = 500
	rememberAt = 1 << 12
)

// room is how many more versions surely fit at an address, so that a write does not
// look at all that are there. What is removed makes more room than is known.
type room struct {
	most int64 // what the rest is of
	at   map[string]int64
}

func roomKey(r *record.Record) string {
	return fmt.Sprintf("%d %s %v", r.Event.Kind, r.Pubkey, r.D)
}

func (m *room) left(r *record.Record, most int64) int64 {
	if m.most != most {
		m.at = nil
	}
	return m.at[roomKey(r)]
}

func (m *room) of(r *record.Record, most, left int64) {
	if m.most = most; m.at == nil || len(m.at) >= rememberAt {
		m.at = map[string]int64{}
	}
	m.at[roomKey(r)] = left
}

// take is told of each version that is kept.
func (m *room) take(r *record.Record) {
	if len(m.at) == 0 {
		return
	}
	if left, known := m.at[roomKey(r)]; known {
		m.at[roomKey(r)] = left - 1
	}
}

// RemoveHistory removes the versions that a query selects as seq, pubkey,
// length(json), and reports how many.
func (a *archive) RemoveHistory(why reason, text string, args ...engine.Value) (int, error) {
	n := 0
	err := a.Conn().Each(text, args, func(row engine.Row) error {
		n++
		of := row.Blob(1)
		if len(of) != len(record.Pubkey{}) { // it is rotten
			if err := a.Settle("history", row.Int(0)); err != nil {
				return err
			}
			key, err := a.Conn().Blob("SELECT pubkey FROM history WHERE seq = ?", row[0])
			if of = key; err != nil || len(of) != len(record.Pubkey{}) {
				return noEntry(err)
			}
		}
		return a.dropVersion(why, row.Int(0), record.Pubkey(of), row.Int(2))
	})
	return n, err
}

// dropVersion removes one version of size bytes from history.
func (a *archive) dropVersion(why reason, seq int64, of record.Pubkey, size int64) error {
	a.seqGone = true
	if a.Rot.Has("history", seq) {
		a.After(func() { a.Rot.Gone("history", seq) })
	}
	if _, err := a.Exec(sqlDeleteHistory, seq); engine.Corrupt(err) { // it has no entry where its columns say
		if err := a.Settle("history", seq); err != nil {
			return err
		}
		if _, err := a.Exec(sqlDeleteHistory, seq); err != nil {
			return err
		}
	} else if err != nil {
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
// name, and notes its id, which outlives the copy.
func (a *archive) Quarantine(name, table string, seq int64, isHead bool) error {
	a.seqGone = true
	a.Known.quarantine, a.Known.rolledBack = true, true
	state, err := a.Conn().One("SELECT "+column.Sound(table, table)+" FROM "+table+" WHERE seq = ?", seq)
	if err != nil || state == nil {
		return err
	}
	bad, err := a.rotten(table, seq, state[0])
	if err == nil && bad { // there is nothing to keep
		if err = a.Settle(table, seq); err == nil {
			_, err = a.Exec(`INSERT OR IGNORE INTO rolled_back SELECT id FROM `+table+` WHERE seq = ?`, seq)
		}
		return err
	}
	if err != nil {
		return err
	}
	err = a.Do(`INSERT INTO quarantine(restore, moved_at, head, id, pubkey, kind, d, created_at, expires_at, json)
		SELECT ?1, ?2, ?3, id, pubkey, kind, d, created_at, expires_at, json FROM `+table+` WHERE seq = ?4`,
		name, a.Now, column.Bool(isHead), seq)
	if err != nil {
		return err
	}
	_, err = a.Exec(`INSERT OR IGNORE INTO rolled_back SELECT id FROM `+table+` WHERE seq = ?`, seq)
	return err
}

// rolledBack reports whether a rollback took the event away. The operator's own
// import or restore brings it back: its id is forgotten.
func (a *archive) rolledBack(r *record.Record, operator bool) (bool, error) {
	if !a.Known.rolledBack {
		return false, nil
	}
	if operator {
		_, err := a.Exec(`DELETE FROM rolled_back WHERE id = ?`, r.ID)
		return false, err
	}
	return a.Conn().Exists(`SELECT 1 FROM rolled_back WHERE id = ?`, r.ID)
}

const (
	sqlRaiseFloor = `INSERT INTO removed_heads(address, created_at, id) VALUES (?1, ?2, ?3) ON CONFLICT (address) DO UPDATE
		SET created_at = ?2, id = ?3 WHERE ?2 > created_at OR ?2 = created_at AND ?3 < id`
	sqlBelowFloor = `SELECT id, created_at FROM removed_heads WHERE address = ?1 AND (created_at > ?2 OR created_at = ?2 AND id < ?3)`
	sqlDropFloor  = `DELETE FROM removed_heads WHERE address = ?`

	// floorOfExpired stands in a floor for the id of a head that has expired. It comes
	// before every id, so that nothing of the head's time is above the floor.
	floorOfExpired = "\x00"
)

// A floor is what keeps an address from going back when the operator has
// removed its head, or versions of it: what is older than a removed head, and
// any superseded version that was removed, does not become head. The removed
// head itself may be published again: to remove is not to ban. A head of a gated
// kind that expires leaves one too: nothing of its time or before becomes head, but for
// what of that time expires later than now. That is itself, where a clock that was ahead
// took it away.

// RaiseFloor makes (created, id) the floor of an address, unless it has a
// higher one. d is the column's value; an empty id comes before every other, so
// that the version itself is below the floor.
func (a *archive) RaiseFloor(kind, pubkey, d, created engine.Value, id []byte) error {
	address, err := addressHash(kind, pubkey, d)
	if err != nil {
		return err
	}
	a.Known.floors = true
	return a.Do(sqlRaiseFloor, address, created, id)
}

// belowFloor returns why the record may not become head of its address; nil if it may.
func (a *archive) belowFloor(r *record.Record) (*nip01.Refusal, error) {
	if !a.Known.floors {
		return nil, nil
	}
	address, err := addressHash(int64(r.Event.Kind), r.Pubkey, r.D)
	if err != nil {
		return nil, err
	}
	row, err := a.Conn().One(sqlBelowFloor, address, r.Created, r.ID)
	switch {
	case err != nil || row == nil:
		return nil, err
	case string(row.Blob(0)) != floorOfExpired:
		return store.WhyRemoved, nil
	case row.Int(1) == r.Created && r.Expires > a.Now:
		return nil, nil
	}
	return store.WhyExpired, nil
}

// DropFloor lets the operator himself bring an address back.
func (a *archive) DropFloor(r *record.Record) error {
	if r.D == nil {
		return nil
	}
	if _, err := a.head(r); err != nil || !a.Known.floors { // one that has expired leaves a floor
		return err
	}
	address, err := addressHash(int64(r.Event.Kind), r.Pubkey, r.D)
	if err == nil {
		_, err = a.Exec(sqlDropFloor, address)
	}
	return err
}

// addressHash names an address without showing it. kind, pubkey and d are as
// columns have them.
func addressHash(kind, pubkey, d engine.Value) ([]byte, error) {
	k, ok1 := kind.(int64)
	who, ok2 := pubkey.([]byte)
	name, err := column.Text(d)
	if !ok1 || !ok2 || err != nil {
		return nil, fmt.Errorf("address: %w", column.ErrDamaged)
	}
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 34+len(name)), uint16(k))
	sum := sha256.Sum256(append(append(b, who...), name...))
	return sum[:], nil
}
