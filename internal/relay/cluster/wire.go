package cluster

import (
	"encoding/binary"

	"engramd/internal/relay/store"
)

// reader reads what was written with the appending functions of encoding/binary.
type reader struct{ store.StrictReader }

func newReader(b []byte) *reader { return &reader{store.StrictReader{Left: b}} }

// count reads a number that must not be greater than most.
func (r *reader) count(most int) int {
	n := r.Uvarint()
	if n > uint64(most) {
		r.Bad = true
		return 0
	}
	return int(n)
}

// text reads a text of at most so many bytes, with its length before it.
func (r *reader) text(most int) string { return string(r.Take(uint64(r.count(most)))) }

func (r *reader) hash() (h [32]byte) {
	copy(h[:], r.Take(32))
	return h
}

func (r *reader) nodeID() (id NodeID) {
	copy(id[:], r.Take(uint64(len(id))))
	return id
}

// ended reports whether everything was read, and nothing was bad.
func (r *reader) ended() bool { return !r.Bad && len(r.Left) == 0 }

// appendText appends a text with its length before it.
func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}
