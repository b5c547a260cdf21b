package cluster

import (
	"encoding/binary"
	"fmt"

	"engramd/internal/relay/store"
)

// stateFormat is the version of a state's encoding.
const stateFormat = 1

// marshal returns the one encoding of a state.
func (s *state) marshal() []byte {
	b := append(make([]byte, 0, 1024+len(s.text)), stateFormat)
	b = append(b, s.cluster[:]...)
	b = binary.AppendUvarint(b, s.number)
	b = binary.AppendUvarint(b, uint64(s.next))
	b = binary.AppendUvarint(b, uint64(s.left))
	b = binary.AppendVarint(b, s.time)
	b = appendList(b, s.members, func(b []byte, m member) []byte {
		b = appendText(append(b, m.id[:]...), m.name)
		b = binary.AppendUvarint(b, m.boot)
		b = binary.AppendUvarint(b, m.counter)
		b = binary.AppendVarint(b, m.heard)
		b = binary.AppendUvarint(b, m.version)
		return binary.AppendUvarint(b, m.durable)
	})
	b = appendList(b, s.struck, func(b []byte, id NodeID) []byte { return append(b, id[:]...) })
	b = append(b, s.lease.holder[:]...)
	b = binary.AppendUvarint(b, s.lease.boot)
	b = binary.AppendUvarint(b, s.lease.epoch)
	b = binary.AppendVarint(b, s.lease.until)
	b = appendText(binary.AppendUvarint(b, s.version), s.text)
	b = appendList(b, s.past, func(b []byte, p passed) []byte {
		return binary.AppendVarint(binary.AppendUvarint(b, p.number), p.at)
	})
	b = appendList(b, s.voided, appendPlace)
	b = binary.AppendUvarint(append(b, s.chain.hash[:]...), s.chain.count)
	b = appendList(b, s.chain.checks, func(b []byte, c check) []byte {
		return appendPlace(append(binary.AppendUvarint(b, c.count), c.hash[:]...), c.at)
	})
	return appendList(b, s.chain.reports, func(b []byte, r report) []byte {
		b = append(binary.AppendUvarint(b, r.count), r.node[:]...)
		return append(b, r.hash[:]...)
	})
}

// unmarshalState reads what marshal wrote, and nothing else.
func unmarshalState(b []byte) (*state, error) {
	r, s := newReader(b), &state{}
	if format := r.Byte(); format != stateFormat {
		return nil, fmt.Errorf("%w: format %d", ErrState, format)
	}
	copy(s.cluster[:], r.Take(uint64(len(s.cluster))))
	s.number, s.next, s.left, s.time = r.Uvarint(), r.count(maxCommands), r.count(maxCommands), r.Varint()
	s.members = readList(r, mostMembers, func() member {
		return member{r.nodeID(), r.text(maxName), r.Uvarint(), r.Uvarint(), r.Varint(), r.Uvarint(), r.Uvarint()}
	})
	s.struck = readList(r, mostStruck, r.nodeID)
	s.lease = leaseState{r.nodeID(), r.Uvarint(), r.Uvarint(), r.Varint()}
	s.version, s.text = r.Uvarint(), r.text(maxText)
	s.past = readList(r, mostPast, func() passed { return passed{r.Uvarint(), r.Varint()} })
	s.voided = readList(r, mostVoided, r.place)
	s.chain.hash, s.chain.count = r.hash(), r.Uvarint()
	s.chain.checks = readList(r, mostChecks, func() check { return check{r.Uvarint(), r.hash(), r.place()} })
	s.chain.reports = readList(r, mostChecks*(mostMembers+mostStruck), func() report { return report{r.Uvarint(), r.nodeID(), r.hash()} })
	if !r.ended() {
		return nil, fmt.Errorf("%w: malformed", ErrState)
	}
	return s, nil
}

func appendPlace(b []byte, p store.LogPlace) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, p.Number), uint64(p.Index+1))
}

func (r *reader) place() store.LogPlace {
	return store.LogPlace{Number: r.Uvarint(), Index: r.count(maxCommands) - 1}
}

// appendList appends the length of a list and its elements.
func appendList[T any](b []byte, list []T, one func([]byte, T) []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, v := range list {
		b = one(b, v)
	}
	return b
}

// readList reads a list of at most so many elements, nil for an empty one.
func readList[T any](r *reader, most int, one func() T) (out []T) {
	for range r.count(most) {
		if v := one(); !r.Bad {
			out = append(out, v)
		}
	}
	return out
}

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
