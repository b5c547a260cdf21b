package cluster

import (
	"encoding/binary"
	"fmt"

	"engramd/internal/relay/store"
)

// The versions of a state's encoding: the second one from proofVersion of the
// cluster on, so that an older program reads what is stored before.
const (
	stateFormat = 1
	proofFormat = 2
)

// marshal returns the one encoding of a state.
func (s *state) marshal() []byte {
	format := byte(stateFormat)
	if s.version >= proofVersion {
		format = proofFormat
	}
	b := append(make([]byte, 0, 1024+len(s.text)+len(s.trail.last)*len(trailHash{})), format)
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
	b = appendList(b, s.chain.reports, func(b []byte, r report) []byte {
		b = append(binary.AppendUvarint(b, r.count), r.node[:]...)
		return append(b, r.hash[:]...)
	})
	if format == proofFormat {
		b = appendProof(b, s)
	}
	return b
}

// appendProof appends what there is from proofVersion on.
func appendProof(b []byte, s *state) []byte {
	for _, m := range s.members {
		b = binary.AppendUvarint(b, m.last)
		for _, n := range m.beats {
			b = binary.AppendUvarint(b, n)
		}
		b = binary.AppendUvarint(b, uint64(m.clock))
		b = binary.AppendUvarint(binary.AppendUvarint(b, m.read), m.agreed)
		b = binary.AppendUvarint(append(b, oneIf(m.differs), oneIf(m.silenced)), m.fresh)
	}
	b = append(append(b, s.trail.hash[:]...), s.trail.before[:]...)
	b = appendList(b, s.trail.last, func(b []byte, h trailHash) []byte { return append(b, h[:]...) })
	b = binary.AppendUvarint(b, s.dispute)
	if len(s.removed) > 0 {
		b = appendList(b, s.removed, func(b []byte, id NodeID) []byte { return append(b, id[:]...) })
	}
	return b
}

func (r *reader) proof(s *state) {
	for i := range s.members {
		m := &s.members[i]
		m.last = r.Uvarint()
		for j := range m.beats {
			m.beats[j] = r.Uvarint()
		}
		m.clock = int64(r.count(latestClock))
		m.read, m.agreed, m.differs, m.silenced, m.fresh = r.Uvarint(), r.Uvarint(), r.bool(), r.bool(), r.Uvarint()
	}
	s.trail.hash, s.trail.before = r.hash(), r.hash()
	s.trail.last = readList(r, mostTrail, func() (h trailHash) {
		copy(h[:], r.Take(uint64(len(h))))
		return h
	})
	if s.dispute = r.Uvarint(); len(r.Left) > 0 {
		s.removed = readList(r, mostStruck, r.nodeID)
		r.Bad = r.Bad || len(s.removed) == 0
	}
}

// unmarshalState reads what marshal wrote, and nothing else.
func unmarshalState(b []byte) (*state, error) {
	r, s := newReader(b), &state{}
	format := r.Byte()
	if format != stateFormat && format != proofFormat {
		return nil, fmt.Errorf("%w: format %d", ErrState, format)
	}
	copy(s.cluster[:], r.Take(uint64(len(s.cluster))))
	s.number, s.next, s.left, s.time = r.Uvarint(), r.count(maxCommands), r.count(maxCommands), r.Varint()
	s.members = readList(r, mostMembers, func() member {
		return member{id: r.nodeID(), name: r.text(maxName), boot: r.Uvarint(), counter: r.Uvarint(), heard: r.Varint(), version: r.Uvarint(), durable: r.Uvarint()}
	})
	s.struck = readList(r, mostStruck, r.nodeID)
	s.lease = leaseState{r.nodeID(), r.Uvarint(), r.Uvarint(), r.Varint()}
	s.version, s.text = r.Uvarint(), r.text(maxText)
	s.past = readList(r, mostPast, func() passed { return passed{r.Uvarint(), r.Varint()} })
	s.voided = readList(r, mostVoided, r.place)
	s.chain.hash, s.chain.count = r.hash(), r.Uvarint()
	s.chain.checks = readList(r, mostChecks, func() check { return check{r.Uvarint(), r.hash(), r.place()} })
	s.chain.reports = readList(r, mostChecks*(mostMembers+mostStruck), func() report { return report{r.Uvarint(), r.nodeID(), r.hash()} })
	if format == proofFormat {
		r.proof(s)
	}
	if !r.ended() || (s.version >= proofVersion) != (format == proofFormat) {
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

// bool reads one byte that is 0 or 1.
func (r *reader) bool() bool {
	b := r.Byte()
	r.Bad = r.Bad || b > 1
	return b == 1
}

func oneIf(so bool) byte {
	if so {
		return 1
	}
	return 0
}

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
