package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// From proofVersion of the cluster on every message carries a word of its sender:
// how far it has read, which bytes that were, and what its clock shows. A log that
// does not say the same to all is found by the first message of who has read
// another one, whatever becomes of what is in it.
const proofVersion = 2

// trailHash is the hash of all that was read up to a number, cut to half.
type trailHash [16]byte

// mostTrail is of how many of the last numbers the hashes are kept. What was read
// further back is unknown, and is not taken for different.
const mostTrail = 128

// word is what a sender says of itself.
type word struct {
	clock  int64     // in Unix nanoseconds, 0 if it is not trusted
	number uint64    // up to which it had read when it made the message
	hash   trailHash // of that
	beat   bool      // it holds what it reads (Node.hold): a mark that counts as a heartbeat
}

// trail is the hash over all messages since the version was raised.
type trail struct {
	hash, before [32]byte    // up to the last message, and without it; that is zero for the one that raised
	last         []trailHash // up to the last message
}

func (t *trail) push(hash [32]byte) {
	t.hash = hash
	t.last = append(t.last, trailHash(hash[:len(trailHash{})]))
	t.last = t.last[max(0, len(t.last)-mostTrail):]
}

// extend chains a message.
func (t *trail) extend(number uint64, at int64, sum [32]byte) {
	t.before = t.hash
	t.push(chained(t.hash, number, at, sum))
}

// chained is SHA-256(hash, number, time, SHA-256(bytes)).
func chained(hash [32]byte, number uint64, at int64, sum [32]byte) [32]byte {
	b := append(make([]byte, 0, 80), hash[:]...)
	b = binary.BigEndian.AppendUint64(b, number)
	b = binary.BigEndian.AppendUint64(b, uint64(at))
	return sha256.Sum256(append(b, sum[:]...))
}

// at returns the hash up to a number, if it is kept. end is that of the last message.
func (t *trail) at(number, end uint64) (hash trailHash, known bool) {
	back := end - number
	if number > end || back >= uint64(len(t.last)) {
		return hash, false
	}
	return t.last[len(t.last)-1-int(back)], true
}

// saying returns what this state's reader says of itself in a message, nil before
// the version at which others can read it.
func (s *state) saying(clock int64, beat bool) *word {
	if s.version < proofVersion {
		return nil
	}
	hash, _ := s.trail.at(s.number, s.number)
	return &word{clock: clock, number: s.number, hash: hash, beat: beat}
}

var (
	// ErrWentBack means that the log gave a number that it had given before.
	ErrWentBack = errors.New("the log has lost what it had acknowledged")
	// ErrOtherLog means that the majority of members has read another log.
	ErrOtherLog = errors.New("the majority of members has read another log")
	// ErrLogs means that members have read different logs, and none is a majority's.
	ErrLogs = errors.New("members have read different logs, and none of them is a majority's")
)

// same returns ErrWentBack if the log has another message in the place of the last one
// that was read here: it went back, and is longer again. What was trimmed is unknown.
func (o *Options) same(ctx context.Context, s *state) error {
	if s.trail.before == [32]byte{} || o.Faults.IgnoreNumbers {
		return nil
	}
	err := o.Log.Read(ctx, s.number, func(m Message) error {
		if chained(s.trail.before, m.Number, m.At.UnixNano(), sha256.Sum256(m.Data)) != s.trail.hash {
			return fmt.Errorf("%w: message %d is another one than was read here", ErrWentBack, m.Number)
		}
		return errThere
	})
	if errors.Is(err, errThere) || errors.Is(err, ErrTrimmed) {
		return nil
	}
	return err
}

// hear takes what the sender of a message says of itself. It comes before the
// message is judged, because whoever has read another log sends what is void here.
func (s *state) hear(h *header) {
	i, found := s.find(h.node)
	if !found || h.boot < s.members[i].boot {
		return
	}
	m := &s.members[i]
	m.last = s.number
	w := h.word
	if w == nil {
		return
	}
	if w.beat {
		m.beat(s.number)
	}
	// What was appended again is older than what was said since, as marks are while the log
	// is away, and who starts again may have read less than before.
	newer := h.boot > m.boot || w.number > m.read || w.number == m.read && w.clock > m.clock
	if w.number < s.number && newer {
		m.read, m.clock = w.number, w.clock
	}
	hash, known := s.trail.at(w.number, s.number)
	switch {
	case m.silenced || s.faults.IgnoreTrails:
	case w.number >= s.number, known && hash != w.hash: // nobody can have read what comes after its own message
		m.differs = true
		if s.dispute == 0 {
			s.dispute = s.number
		}
	case known:
		m.agreed = max(m.agreed, w.number)
	}
}

// tally counts who has read this log, once a member has read another one. Who agrees
// has said so of the message with which the question came up, or a later one.
// Members that do not answer count as long as they are there (counts).
func tally(s *state) (agree, differ, all int) {
	for i, m := range s.members {
		switch {
		case m.silenced:
			continue
		case m.differs:
			differ++
		case m.agreed >= s.dispute:
			agree++
		case !s.counts(i):
			continue
		}
		all++
	}
	return agree, differ, all
}

// settle ends the question once the majority agrees: who differs from it has no say
// any more.
func (s *state) settle() {
	if agree, _, all := tally(s); s.dispute == 0 || 2*agree <= all {
		return
	}
	for i := range s.members {
		m := &s.members[i]
		m.silenced, m.differs = m.silenced || m.differs, false
	}
	s.dispute = 0
}

// proven returns why a node cannot go on with the log that it reads, nil if it can.
func (s *state) proven(id NodeID) error {
	agree, differ, all := tally(s)
	switch i, member := s.find(id); {
	case s.dispute > 0 && 2*differ > all, member && s.members[i].silenced:
		return fmt.Errorf("%w than this node, up to message %d", ErrOtherLog, s.number)
	case s.dispute > 0 && agree+differ == all:
		return fmt.Errorf("%w, as of message %d", ErrLogs, s.number)
	}
	return nil
}

// differing returns the names of the members that have read another log.
func differing(s *state) (names []string) {
	for _, m := range s.members {
		if m.differs || m.silenced {
			names = append(names, m.name)
		}
	}
	return names
}

// beat notes a heartbeat.
func (m *member) beat(number uint64) {
	if m.beats[0] != number {
		m.beats = [3]uint64{number, m.beats[0], m.beats[1]}
	}
}

// counts reports whether a member counts as being there: until a third heartbeat
// of one other member follows its last message. No time is compared. Who has read
// another log silences nobody.
func (s *state) counts(i int) bool {
	m := &s.members[i]
	if s.faults.CountTheGone {
		return true
	}
	return !m.silenced && !slices.ContainsFunc(s.members, func(o member) bool {
		return o.id != m.id && !o.silenced && !o.differs && o.beats[2] > m.last
	})
}
