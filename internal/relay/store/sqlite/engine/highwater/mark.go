// Package highwater keeps the mark file: how far a database was that lies
// beside it, so that one that is gone, or older than it was, is noticed.
package highwater

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
)

// Mark says how far a database was. It is never ahead of what is durable.
type Mark struct {
	ID      [16]byte // of the database
	Seq     int64    // the last sequence number that it had given
	Commits int64    // that it had, and that gave none
	Salt    [8]byte  // of its write-ahead log; zero: that was empty
	Turn    uint64   // counts marks: of two the higher one is the newer
}

// NewID makes the id of a database.
func NewID() (id [16]byte) {
	_, _ = rand.Read(id[:]) // which never fails
	return id
}

// slotSize is that of a sector of the oldest disks, which is written whole or
// not at all.
const slotSize = 512

// magic begins each slot; its digit is the version of the format.
var magic = []byte("engramd mark 1\n\x00")

const sumAt = slotSize - sha256.Size

// slot is m as it lies in the file: magic, id, four numbers, zeros, and the sum
// of all before it.
func (m Mark) slot() []byte {
	b := make([]byte, 0, slotSize)
	b = append(append(b, magic...), m.ID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(m.Commits))
	b = binary.BigEndian.AppendUint64(b, uint64(m.Seq))
	b = append(b, m.Salt[:]...)
	b = binary.BigEndian.AppendUint64(b, m.Turn)
	sum := sha256.Sum256(b[:sumAt])
	return append(b[:sumAt], sum[:]...)
}

// parse reads a slot; ok is false for one that was never written, or not whole.
func parse(slot []byte) (m Mark, ok bool) {
	if len(slot) != slotSize || !bytes.HasPrefix(slot, magic) {
		return m, false
	}
	if sum := sha256.Sum256(slot[:sumAt]); !bytes.Equal(sum[:], slot[sumAt:]) {
		return m, false
	}
	b := slot[len(magic):]
	b = b[copy(m.ID[:], b):]
	m.Commits, b = int64(binary.BigEndian.Uint64(b)), b[8:]
	m.Seq, b = int64(binary.BigEndian.Uint64(b)), b[8:]
	b = b[copy(m.Salt[:], b):]
	m.Turn = binary.BigEndian.Uint64(b)
	return m, true
}
