// Package strict reads what the appending functions of encoding/binary write,
// and nothing that they would not have written.
package strict

import "encoding/binary"

// Reader reads fields off the front of Left. Once it has met something that
// would not have been written it is Bad, and returns zero values only.
type Reader struct {
	Left []byte
	Bad  bool
}

// Take returns the next n bytes, nil if there are fewer.
func (r *Reader) Take(n uint64) []byte {
	if r.Bad || n > uint64(len(r.Left)) {
		r.Bad = true
		return nil
	}
	b := r.Left[:n:n]
	r.Left = r.Left[n:]
	return b
}

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uvarint reads a number and accepts its shortest form only.
func (r *Reader) Uvarint() uint64 {
	n, size := binary.Uvarint(r.Left)
	if r.Bad || size <= 0 || size > 1 && r.Left[size-1] == 0 {
		r.Bad = true
		return 0
	}
	r.Take(uint64(size))
	return n
}

// Varint reads a number with a sign.
func (r *Reader) Varint() int64 {
	u := r.Uvarint()
	n := int64(u >> 1)
	if u&1 != 0 {
		n = ^n
	}
	return n
}
