package apply

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

const (
	sqlRaiseFloor = `INSERT INTO removed_heads(address, created_at, id) VALUES (?1, ?2, ?3) ON CONFLICT (address) DO UPDATE
		SET created_at = ?2, id = ?3 WHERE ?2 > created_at OR ?2 = created_at AND ?3 < id`
	sqlBelowFloor = `SELECT 1 FROM removed_heads WHERE address = ?1 AND (created_at > ?2 OR created_at = ?2 AND id < ?3)`
	sqlDropFloor  = `DELETE FROM removed_heads WHERE address = ?`
)

// A floor is what keeps an address from going back when the operator has
// removed its head, or versions of it: what is older than a removed head, and
// any superseded version that was removed, does not become head. The removed
// head itself may be published again: to remove is not to ban.

// RaiseFloor makes (created, id) the floor of an address, unless it has a
// higher one. d is the column's value; an empty id comes before every other, so
// that the version itself is below the floor.
func (a *archive) RaiseFloor(kind, pubkey, d, created engine.Value, id []byte) error {
	address, err := addressHash(kind, pubkey, d)
	if err != nil {
		return err
	}
	a.Known.floors = true
	_, err = a.Exec(sqlRaiseFloor, address, created, id)
	return err
}

// belowFloor reports whether the record may not become head of its address.
func (a *archive) belowFloor(r *record.Record) (bool, error) {
	if !a.Known.floors {
		return false, nil
	}
	address, err := addressHash(int64(r.Event.Kind), r.Pubkey, r.D)
	if err != nil {
		return false, err
	}
	return a.Conn().Exists(sqlBelowFloor, address, r.Created, r.ID)
}

// DropFloor lets the operator himself bring an address back.
func (a *archive) DropFloor(r *record.Record) error {
	if !a.Known.floors || r.D == nil {
		return nil
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
