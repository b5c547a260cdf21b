package recall

import (
	"encoding/binary"
	"slices"
	"sync/atomic"
)

// packed are the postings of a term as pack wrote them, and unpacked once somebody asked.
type packed struct {
	list string
	open atomic.Pointer[[]posting]
}

// isPacked reports whether the postings of a term are as they were decoded.
func (x *inverted) isPacked(id int32) bool { return int(id) < len(x.packed) && x.posts[id] == nil }

// postings returns the sections that a term stands in. Those of an index that was
// decoded are unpacked when they are first asked for: a question has few terms.
func (x *inverted) postings(id int32) []posting {
	if !x.isPacked(id) {
		return x.posts[id]
	}
	p := &x.packed[id]
	if list := p.open.Load(); list != nil {
		return *list
	}
	list := unpack(p.list, x.packedOf)
	p.open.Store(&list) // who asked at the same time has an equal one
	return list
}

// number is how many postings a term has.
func (x *inverted) number(id int32) int {
	if !x.isPacked(id) {
		return len(x.posts[id])
	}
	n, _ := uvarint(x.packed[id].list)
	return int(min(n, uint64(x.packedOf)))
}

// pack writes the postings of a term: their number, then of each how many sections
// further it stands, and how often.
func (x *inverted) pack(id int32) string {
	if x.isPacked(id) {
		return x.packed[id].list
	}
	list, before := x.posts[id], int32(0)
	out := binary.AppendUvarint(make([]byte, 0, 2+3*len(list)), uint64(len(list)))
	for _, p := range list {
		out = binary.AppendUvarint(out, uint64(p.section()-before))
		out = binary.AppendUvarint(out, uint64(p&maxCount))
		before = p.section()
	}
	return string(out)
}

// unpack reads what pack wrote, of an index of so many sections. It ends at the first
// fault: a blob whose checksum is right has none, unless somebody made it.
func unpack(p string, sections int) []posting {
	n, size := uvarint(p)
	if size <= 0 {
		return nil
	}
	p = p[size:]
	list, at := make([]posting, 0, min(n, uint64(len(p)/2))), uint64(0)
	for len(list) < cap(list) {
		step, a := uvarint(p)
		if a <= 0 {
			break
		}
		count, b := uvarint(p[a:])
		if b <= 0 || step > maxPlaces || len(list) > 0 && step == 0 || count == 0 || count > maxCount || at+step >= uint64(sections) {
			break
		}
		at, p = at+step, p[a+b:]
		list = append(list, posting(at)<<8|posting(count))
	}
	return slices.Clip(list) // readers share it
}

// uvarint is binary.Uvarint of a text: a size that is not positive is a number that is cut
// or too large.
func uvarint(s string) (n uint64, size int) {
	for i := 0; i < len(s) && i < binary.MaxVarintLen64; i++ {
		if b := s[i]; b < 0x80 {
			if i == binary.MaxVarintLen64-1 && b > 1 {
				return 0, -1
			}
			return n | uint64(b)<<(7*i), i + 1
		}
		n |= uint64(s[i]&0x7f) << (7 * i)
	}
	return 0, 0
}
