package cluster

import (
	"bytes"
	"slices"
	"time"

	"engramd/internal/relay/store"
)

// state is what every node makes of the log alone. It is a value: nothing in it
// is of one node, comes from a clock or depends on the order of a map, so that
// the same messages give the same bytes on all nodes (marshal). It changes by
// follow only, one step after the other.
type state struct {
	cluster ClusterID
	number  uint64 // of the last message
	next    int    // how many of its commands were followed
	left    int    // how many are to come
	time    int64  // of the last message, in Unix nanoseconds, never less than before

	members []member // by id
	struck  []NodeID // the newest ones, newest last
	lease   leaseState
	version uint64
	text    string           // the shared configuration
	past    []passed         // when which message came, newest last
	voided  []store.LogPlace // what was skipped, the newest ones
	chain   chain

	// From proofVersion on:
	trail   trail
	removed []NodeID // of struck, those that somebody took out (Remove)
	dispute uint64   // the message with which it came up that a member has read another log, 0 for none

	faults Faults // not stored
}

// member is a node that takes part.
type member struct {
	id      NodeID
	name    string
	boot    uint64
	counter uint64 // of its last batch
	heard   int64  // when that came
	version uint64
	durable uint64

	// From proofVersion on:
	last     uint64    // number of its last message
	beats    [3]uint64 // of its last heartbeats, the newest first
	clock    int64     // that it carried, 0 if it trusts none
	read     uint64    // up to where it said it had read when it carried that
	agreed   uint64    // up to where it said to have read this log
	differs  bool      // it has read another one
	silenced bool      // and a majority has not: it has no say
	fresh    uint64    // the message of its Join, until others know it (introduce)
}

// leaseState says who leads.
type leaseState struct {
	holder NodeID
	boot   uint64
	epoch  uint64 // 0 as long as there was none
	until  int64
}

// passed is a message, and when it came.
type passed struct {
	number uint64
	at     int64
}

const (
	// leaseTime is how long a lease lasts without being renewed.
	leaseTime = 10 * time.Second
	// strikeTime is how long a member may be unheard.
	strikeTime = 30 * time.Minute

	mostMembers = 64
	mostStruck  = 64
	mostVoided  = 64

	// The past goes back for keepTime, and a bit, by steps of pastStep.
	keepTime = time.Hour
	pastStep = 2 * time.Minute
	mostPast = int(keepTime/pastStep) + 2
)

// clone returns a copy that shares nothing which changes.
func (s *state) clone() *state {
	c := *s
	c.members = slices.Clone(s.members)
	c.struck, c.removed = slices.Clone(s.struck), slices.Clone(s.removed)
	c.past = slices.Clone(s.past)
	c.voided = slices.Clone(s.voided)
	c.chain.checks = slices.Clone(s.chain.checks)
	c.chain.reports = slices.Clone(s.chain.reports)
	c.trail.last = slices.Clone(s.trail.last)
	return &c
}

// header is a message without its commands.
type header struct {
	node          NodeID
	boot, counter uint64
	commands      int
	join          *Join    // if that is its first command
	word          *word    // nil if it has none
	sum           [32]byte // of the message's bytes
}

// verdict says what becomes of a batch.
type verdict string

const (
	taken       verdict = "taken"
	isMark      verdict = "mark"
	voidMember  verdict = "no member"
	voidStruck  verdict = "struck out"
	voidVersion verdict = "program too old"
	voidBoot    verdict = "earlier boot"
	voidRepeat  verdict = "repeated"
	voidGap     verdict = "gap"
	voidMissed  verdict = "gap that nothing fills" // batches of its sender were never read here
)

// pass moves on to a message, and the time to when it came.
func (s *state) pass(h *header, number uint64, at int64) {
	s.number, s.next, s.left = number, 0, 0
	if s.version >= proofVersion {
		s.trail.extend(number, at, h.sum)
		s.hear(h)
		s.settle()
		introduce(s)
		at = bounded(s, at)
	} else if h.word != nil && h.word.clock != 0 && !s.faults.TrustStamps { // who begins the log, alone
		at = min(at, h.word.clock)
	}
	s.time = max(s.time, at)
}

// Take judges a batch by who sent it. What is not taken moves the place and the
// time, and nothing else.
func (s *state) Take(h header, number uint64, at int64) verdict {
	s.pass(&h, number, at)
	v := s.judge(h)
	if v != taken {
		return v
	}
	i, found := s.find(h.node)
	if !found {
		m := member{id: h.node, name: h.join.Name, version: h.join.Version}
		if s.version >= proofVersion {
			m.last = s.number
			if len(s.members) > 0 {
				m.fresh = s.number
			}
		}
		s.members = slices.Insert(s.members, i, m)
	}
	m := &s.members[i]
	m.boot, m.counter, m.heard = h.boot, h.counter, s.time
	s.left = h.commands
	if n := len(s.past); n == 0 || s.time-s.past[n-1].at >= int64(pastStep) {
		s.past = append(s.past, passed{number, s.time})
		s.past = s.past[max(0, len(s.past)-mostPast):]
	}
	return taken
}

func (s *state) judge(h header) verdict {
	if h.counter == 0 {
		return isMark
	}
	var boot, counter uint64
	i, found := s.find(h.node)
	if found {
		boot, counter = s.members[i].boot, s.members[i].counter
	} else if v := s.admit(h); v != taken {
		return v
	}
	if h.boot != boot {
		counter = 0
	}
	switch {
	case s.faults.IgnoreCounters:
		return taken
	case h.boot < boot:
		return voidBoot
	case h.counter <= counter:
		return voidRepeat
	case found && h.counter > counter+1 && (h.boot > boot || h.counter > counter+mostUnread): // before its Join, or with more on its way than may be
		return voidMissed
	case h.counter > counter+1:
		return voidGap
	}
	return taken
}

// admit judges a batch of a node that is no member.
func (s *state) admit(h header) verdict {
	switch {
	case slices.Contains(s.struck, h.node):
		return voidStruck
	case h.join == nil || len(s.members) >= mostMembers:
		return voidMember
	case h.join.Version < s.version:
		return voidVersion
	}
	return taken
}

// find returns where a member is, or would be.
func (s *state) find(id NodeID) (int, bool) {
	return slices.BinarySearchFunc(s.members, id, func(m member, id NodeID) int { return bytes.Compare(m.id[:], id[:]) })
}

// Next moves on to the next command of the batch that was taken, and reports
// whether the lease allows it.
func (s *state) Next(epoch uint64) bool {
	s.next++
	s.left--
	return epoch == 0 || epoch == s.lease.epoch || s.faults.IgnoreEpochs
}

// leads reports whether a boot of a node holds the lease at a time.
func (s *state) leads(node NodeID, boot uint64, at int64) bool {
	return s.lease.epoch > 0 && s.lease.holder == node && s.lease.boot == boot && at < s.lease.until
}

// trimmable returns below which message nobody needs the log any more: every
// member is behind it, and it came an hour ago.
func (s *state) trimmable() (below uint64) {
	for _, p := range s.past {
		if s.time-p.at >= int64(keepTime) {
			below = p.number
		}
	}
	for _, m := range s.members {
		below = min(below, m.durable+1)
	}
	return below
}
