package cluster

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"engramd/internal/relay/store"
)

// Answer is what became of a command of the cluster.
type Answer struct {
	Refused string // why it was, "" if it was not
	Epoch   uint64 // of the lease that is in force, answering Lease
}

func refused(format string, args ...any) Answer { return Answer{Refused: fmt.Sprintf(format, args...)} }

// Apply executes a command of the cluster, at the time of the last message.
func (s *state) Apply(from header, c Command) Answer {
	i, found := s.find(from.node)
	if !found { // struck out by a command before in its own batch
		return refused("its sender is no member")
	}
	m := &s.members[i]
	switch c := c.(type) {
	case Join:
		m.name, m.version = c.Name, c.Version
		if c.Version < s.version {
			return refused("the cluster is at version %d", s.version)
		}
	case Strike:
		return s.strike(from, c.Node)
	case Remove:
		return remove(s, c.Node)
	case Lease:
		return s.renew(from, c.Epoch)
	case Report:
		s.chain.report(from.node, c)
	case Void:
		return s.void(c)
	case Configure:
		s.text = c.Text
	case Raise:
		return s.raise(c.Version)
	case Heartbeat:
		m.version, m.durable = c.Version, max(m.durable, c.Durable)
		if s.version >= proofVersion {
			m.beat(s.number)
		}
	}
	return Answer{}
}

func (s *state) strike(from header, id NodeID) Answer {
	i, found := s.find(id)
	if !found {
		return refused("no member")
	}
	if s.version >= proofVersion && !s.faults.StrikeByStamps { // who leads has watched it by its own clock (vigil)
		switch l := &s.lease; {
		case l.epoch == 0 || l.holder != from.node || l.boot != from.boot:
			return refused("its sender does not lead")
		case s.counts(i):
			return refused("it was heard since")
		}
	} else if quiet := time.Duration(s.time - s.members[i].heard); quiet < strikeTime {
		return refused("it was heard %s ago", quiet.Round(time.Second))
	}
	return out(s, i)
}

// out ends a membership.
func out(s *state, i int) Answer {
	s.struck = append(s.struck, s.members[i].id)
	s.struck = s.struck[max(0, len(s.struck)-mostStruck):]
	s.members = slices.Delete(s.members, i, i+1)
	introduce(s)
	return Answer{}
}

// remove asks for no silence: who says it knows. Whoever wants to lead need not wait
// for the lease of a node that has left.
func remove(s *state, id NodeID) Answer {
	i, found := s.find(id)
	switch {
	case s.version < proofVersion:
		return refused("the cluster is at version %d, and this is known from %d on", s.version, proofVersion)
	case !found:
		return refused("no member")
	case s.lease.holder == id:
		s.lease.until = min(s.lease.until, s.time)
	}
	s.removed = append(s.removed, id)
	s.removed = s.removed[max(0, len(s.removed)-mostStruck):]
	return out(s, i)
}

// renew prolongs the lease of its holder, or gives it to another one. The epoch
// that was asked for says what the sender knew: what came late changes nothing.
func (s *state) renew(from header, epoch uint64) Answer {
	l := &s.lease
	same := l.epoch > 0 && l.holder == from.node
	switch {
	case same && l.boot == from.boot && epoch == l.epoch:
	case epoch == l.epoch+1 && (same || s.time >= l.until):
		*l = leaseState{holder: from.node, boot: from.boot, epoch: epoch}
	default:
		return Answer{Refused: "another one has the lease", Epoch: l.epoch}
	}
	l.until = s.time + int64(leaseTime)
	return Answer{Epoch: l.epoch}
}

func (s *state) raise(version uint64) Answer {
	if version <= s.version {
		return refused("the cluster is at version %d", s.version)
	}
	for _, m := range s.members {
		if m.version < version {
			return refused("%s can go up to version %d", m.name, m.version)
		}
	}
	if s.version < proofVersion && version >= proofVersion {
		s.trail.push(sha256.Sum256(binary.BigEndian.AppendUint64(s.cluster[:len(s.cluster):len(s.cluster)], s.number)))
		for i := range s.members {
			s.members[i].last = s.number
		}
	}
	s.version = version
	return Answer{}
}

// void is refused where what it names was not skipped: a node that finds itself
// there has executed it.
func (s *state) void(c Void) Answer {
	if !s.wants(c) {
		return refused("all members have executed message %d", c.Number)
	}
	if !slices.Contains(s.voided, store.LogPlace{Number: c.Number, Index: c.Index}) {
		return refused("message %d, command %d was not skipped", c.Number, c.Index)
	}
	return Answer{}
}

// wants reports whether a Void can be of use: a member has not reported that it
// is behind what it names. Else it does nothing, on any node.
func (s *state) wants(c Void) bool {
	return c.Number < s.number && slices.ContainsFunc(s.members, func(m member) bool { return m.durable < c.Number })
}

// honour notes that a place was skipped because of a Void further on.
func (s *state) honour(at store.LogPlace) {
	s.voided = append(s.voided, at)
	s.voided = s.voided[max(0, len(s.voided)-mostVoided):]
}

// A message changes the state in steps: it is passed or its batch is taken, and
// then each command of the batch is followed. The node judges a step when it
// reads it, and follows the same step again, from the durable state, when the
// store's transaction is known that executed up to it: what a state is stored
// with never depends on how far ahead the node has read.

type stepKind uint8

const (
	stepPass    stepKind = iota // a mark, a batch that is void, or a message that is
	stepTake                    // a batch that is taken
	stepCommand                 // one of its commands
)

type step struct {
	kind   stepKind
	place  store.LogPlace // Index is -1 but for commands
	at     int64          // when the message came, in Unix nanoseconds
	from   header
	epoch  uint64
	own    Command // of the cluster, else it is the store's
	skip   bool    // by a Void further on
	honour bool    // that Void names this place
	// What the node made of it when it was read:
	placed bool     // handed to the store, which will say that it is done
	sealed bool     // a command of the store among these
	mine   bool     // placed, and sent by this boot of this node
	sender *pending // who waits here, or nil
}

// follow applies a step. void means that a command does nothing.
func (s *state) follow(st *step) (a Answer, void bool) {
	if st.honour {
		s.honour(st.place)
	}
	switch st.kind {
	case stepPass:
		s.pass(&st.from, st.place.Number, st.at)
	case stepTake:
		s.Take(st.from, st.place.Number, st.at)
	case stepCommand:
		if allowed := s.Next(st.epoch); !allowed || st.skip && st.store() {
			return Answer{}, true
		}
		if st.own != nil {
			return s.Apply(st.from, st.own), false
		}
	}
	return Answer{}, false
}

// store reports whether it is a command that the store executes. A Void skips no
// others: who is a member, and what is taken, must not depend on what comes
// later.
func (st *step) store() bool {
	_, configure := st.own.(Configure)
	return st.own == nil || configure
}
