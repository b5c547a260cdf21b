package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Who reads the latest state asks the other members how far they have read, and
// executes up to there: what was acknowledged anywhere, some member had read before.
// Nothing is appended for it, and no leader of the log is needed. It is only for those
// questions that every member answers at once; for all others there are marks.

const (
	// askLimit is how long all members have to answer, and the log to show what they say.
	askLimit = 30 * time.Millisecond
	// askAgain is for how long marks are used after one did not.
	askAgain = time.Second
	// askFormat is the version of questions and answers.
	askFormat = 1
)

// question asks how far others have read. Who asks, and the number among the questions
// of its boot, are its id.
type question struct {
	cluster ClusterID
	node    NodeID
	boot    uint64
	count   uint64
}

// answer says how far a boot of a member has read.
type answer struct {
	to     question
	node   NodeID
	boot   uint64
	number uint64
}

var errAsk = errors.New("not a question or an answer of this program")

func (q question) append(b []byte) []byte {
	b = append(append(b, askFormat), q.cluster[:]...)
	b = binary.AppendUvarint(append(b, q.node[:]...), q.boot)
	return binary.AppendUvarint(b, q.count)
}

func (a answer) append(b []byte) []byte {
	b = binary.AppendUvarint(append(a.to.append(b), a.node[:]...), a.boot)
	return binary.AppendUvarint(b, a.number)
}

func (r *reader) question() (q question) {
	format := r.Byte()
	copy(q.cluster[:], r.Take(uint64(len(q.cluster))))
	q.node, q.boot, q.count = r.nodeID(), r.Uvarint(), r.Uvarint()
	r.Bad = r.Bad || format != askFormat
	return q
}

// parseQuestion reads a question, and nothing else.
func parseQuestion(b []byte) (question, error) {
	r := newReader(b)
	q := r.question()
	if !r.ended() {
		return question{}, fmt.Errorf("%w: question", errAsk)
	}
	return q, nil
}

// parseAnswer reads an answer, and nothing else.
func parseAnswer(b []byte) (answer, error) {
	r := newReader(b)
	a := answer{to: r.question(), node: r.nodeID(), boot: r.Uvarint(), number: r.Uvarint()}
	if !r.ended() {
		return answer{}, fmt.Errorf("%w: answer", errAsk)
	}
	return a, nil
}

// round is one question, and those who wait for its answers.
type round struct {
	question
	list    []*waiter
	members []NodeID // whom it is for, with who asks: all that there were
	left    []NodeID // who has not answered
	most    uint64   // up to where somebody has read
}

// newRound makes a question to all other members.
func newRound(s *state, q question, list []*waiter) *round {
	r := &round{question: q, list: list, members: idsOf(s), most: s.number}
	r.left = slices.DeleteFunc(slices.Clone(r.members), func(id NodeID) bool { return id == q.node })
	return r
}

// idsOf lists the members.
func idsOf(s *state) (all []NodeID) {
	for _, m := range s.members {
		all = append(all, m.id)
	}
	return all
}

// take takes an answer, which must be about the question itself. It reports false if a
// member said what cannot be: then the question is given up.
func (r *round) take(s *state, a answer) bool {
	f := s.faults
	if a.to != r.question && !f.AnyQuestion {
		return true
	}
	i, found := s.find(a.node)
	if !found {
		return true
	}
	switch m := &s.members[i]; {
	case a.boot != m.boot && !f.AnyBoot, a.number < m.durable && !f.BelowDurable:
		return false
	case a.number > s.number+uint64(len(s.members)*(mostUnread+1)) && !f.AnyEnd: // more than all can have on their way, batches and a mark each
		return false
	}
	r.left = slices.DeleteFunc(r.left, func(id NodeID) bool { return id == a.node })
	r.most = max(r.most, a.number)
	return true
}

// introduce notes of new members that enough others know them. Until then a new one
// acknowledges nothing: who asks all members that it knows would not ask the new one.
// Two others have to have said that they read its Join, or all that are there and that
// others know, one at least; then who asks hears of it by the answer of one of them, and
// asks again. Where all that were known have left, who still asks gets no answer of them.
func introduce(s *state) {
	none := !slices.ContainsFunc(s.members, func(m member) bool { return m.fresh == 0 })
	for i := range s.members {
		m := &s.members[i]
		if m.fresh == 0 {
			continue
		}
		know, there := 0, 0
		for j, o := range s.members {
			switch {
			case j == i, o.fresh > 0, o.silenced:
			case o.agreed >= m.fresh:
				know, there = know+1, there+1
			case s.counts(j):
				there++
			}
		}
		if none || know > 1 || know == 1 && there == 1 {
			m.fresh = 0
		}
	}
}
