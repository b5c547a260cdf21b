package nip77

import (
	"errors"
	"fmt"
	"math"
)

// ErrMessage means that a message is not one of negentropy's.
var ErrMessage = errors.New("no negentropy message")

// maxVarint is how many bytes a number may have: 63 bits, which is more than
// there are seconds, items or bytes.
const maxVarint = 9

// What a range says about its items.
const (
	modeSkip        = 0
	modeFingerprint = 1
	modeIDs         = 2
)

// infinity is the time of the bound above everything.
const infinity = math.MaxInt64

// bound ends a range: a time, and as many bytes of an id as tell it from the item
// before; the others are zero.
type bound struct {
	Item
	len int
}

func (b bound) infinite() bool { return b.CreatedAt == infinity }

// reader takes a message apart.
type reader struct {
	left []byte
	last bound // the end of the range before
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMessage, fmt.Sprintf(format, args...))
}

func (r *reader) bytes(n uint64) ([]byte, error) {
	if n > uint64(len(r.left)) {
		return nil, bad("it ends %d bytes too early", n-uint64(len(r.left)))
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b, nil
}

func (r *reader) varint() (uint64, error) {
	var n uint64
	for i, b := range r.left {
		if i == maxVarint {
			return 0, bad("a number of more than %d bytes", maxVarint)
		}
		if i == 0 && b == 0x80 {
			return 0, bad("a number that begins with zeros")
		}
		n = n<<7 | uint64(b&0x7f)
		if b < 0x80 {
			r.left = r.left[i+1:]
			return n, nil
		}
	}
	return 0, bad("it ends inside a number")
}

// bound reads the end of a range. What would lie beyond the last time there is
// counts as infinity, as it does for others.
func (r *reader) bound() (bound, error) {
	offset, err := r.varint()
	if err != nil {
		return bound{}, err
	}
	size, err := r.varint()
	if err != nil {
		return bound{}, err
	}
	if size > idSize {
		return bound{}, bad("%d bytes of an id", size)
	}
	prefix, err := r.bytes(size)
	if err != nil {
		return bound{}, err
	}
	b := bound{Item: Item{CreatedAt: infinity}, len: int(size)}
	if offset > 0 && offset-1 < uint64(infinity-r.last.CreatedAt) {
		b.CreatedAt = r.last.CreatedAt + int64(offset-1)
	}
	copy(b.ID[:], prefix)
	if !b.infinite() && compare(b.Item, r.last.Item) < 0 {
		return bound{}, bad("a range that ends before it begins")
	}
	r.last = b
	return b, nil
}

// ids reads a list of ids, as the bytes they are.
func (r *reader) ids() ([]byte, error) {
	n, err := r.varint()
	if err != nil {
		return nil, err
	}
	if n > uint64(len(r.left)/idSize) {
		return nil, bad("%d ids in %d bytes", n, len(r.left))
	}
	return r.bytes(n * idSize)
}

// part is what a message says of one range.
type part struct {
	end         bound
	mode        uint64
	fingerprint [fingerprintSize]byte
	ids         []byte
}

// part reads the next one.
func (r *reader) part() (p part, err error) {
	if p.end, err = r.bound(); err != nil {
		return p, err
	}
	if p.mode, err = r.varint(); err != nil {
		return p, err
	}
	switch p.mode {
	case modeSkip:
	case modeFingerprint:
		f, err := r.bytes(fingerprintSize)
		copy(p.fingerprint[:], f)
		return p, err
	case modeIDs:
		p.ids, err = r.ids()
	default:
		err = bad("mode %d", p.mode)
	}
	return p, err
}

// writer puts a message together.
type writer struct {
	out  []byte
	last int64 // the time of the bound before
}

func appendVarint(out []byte, n uint64) []byte {
	digits := 1
	for rest := n >> 7; rest > 0; rest >>= 7 {
		digits++
	}
	for digits--; digits > 0; digits-- {
		out = append(out, byte(n>>(7*digits))|0x80)
	}
	return append(out, byte(n&0x7f))
}

func (w *writer) bound(b bound) {
	if b.infinite() {
		w.out = append(w.out, 0, 0)
	} else {
		w.out = appendVarint(w.out, uint64(b.CreatedAt-w.last)+1)
		w.out = append(w.out, byte(b.len))
		w.out = append(w.out, b.ID[:b.len]...)
	}
	w.last = b.CreatedAt
}

func (w *writer) skip(b bound) {
	w.bound(b)
	w.out = append(w.out, modeSkip)
}

func (w *writer) fingerprint(b bound, f [fingerprintSize]byte) {
	w.bound(b)
	w.out = append(append(w.out, modeFingerprint), f[:]...)
}

func (w *writer) ids(b bound, items []Item) {
	w.bound(b)
	w.out = appendVarint(append(w.out, modeIDs), uint64(len(items)))
	for i := range items {
		w.out = append(w.out, items[i].ID[:]...)
	}
}
