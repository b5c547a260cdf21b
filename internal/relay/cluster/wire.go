package cluster

import "encoding/binary"

// reader reads what was written with the appending functions of encoding/binary.
// Once it has met something that would not have been written it is bad, and
// returns zero values only.
type reader struct {
	left []byte
	bad  bool
}

// take returns the next n bytes, nil if there are fewer.
func (r *reader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.left)) {
		r.bad = true
		return nil
	}
	b := r.left[:n:n]
	r.left = r.left[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// uvarint reads a number and accepts its shortest form only.
func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.left)
	if r.bad || size <= 0 || size > 1 && r.left[size-1] == 0 {
		r.bad = true
		return 0
	}
	r.take(uint64(size))
	return n
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	n := int64(u >> 1)
	if u&1 != 0 {
		n = ^n
	}
	return n
}

// count reads a number that must not be greater than most.
func (r *reader) count(most int) int {
	n := r.uvarint()
	if n > uint64(most) {
		r.bad = true
		return 0
	}
	return int(n)
}

// text reads a text of at most so many bytes, with its length before it.
func (r *reader) text(most int) string { return string(r.take(uint64(r.count(most)))) }

func (r *reader) hash() (h [32]byte) {
	copy(h[:], r.take(32))
	return h
}

func (r *reader) nodeID() (id NodeID) {
	copy(id[:], r.take(uint64(len(id))))
	return id
}

// ended reports whether everything was read, and nothing was bad.
func (r *reader) ended() bool { return !r.bad && len(r.left) == 0 }

// appendText appends a text with its length before it.
func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}
