package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/relay/store"
)

// errThere ends a Read.
var errThere = errors.New("there")

// lookAhead looks for a Void of what is still to be executed, up to where the
// log ended at the start: a node that could not execute a command, and was started
// again, finds behind it that it shall be skipped. s is a state that may be spoiled.
func lookAhead(ctx context.Context, log Log, s *state, last uint64) (map[store.LogPlace]bool, error) {
	from, voids := s.following(), make(map[store.LogPlace]bool)
	if last < from {
		return voids, nil
	}
	next, index := s.number+1, 0
	if s.left > 0 {
		next, index = s.number, s.next
	}
	err := log.Read(ctx, from, func(m Message) error {
		for _, c := range s.voidsIn(m) {
			at := store.LogPlace{Number: c.Number, Index: c.Index}
			if c.Number > next || c.Number == next && (c.Index >= index || index == 0) {
				voids[at] = true
			}
		}
		if m.Number >= last {
			return errThere
		}
		return nil
	})
	if errors.Is(err, errThere) {
		err = nil
	}
	return voids, err
}

// voidsIn follows a message, and returns what it says is to be skipped. What is
// skipped makes no difference to that.
func (s *state) voidsIn(m Message) (out []Void) {
	msg, err := parseMessage(m.Data)
	h := msg.header(m.Data)
	if err != nil || msg.cluster != s.cluster {
		s.pass(&header{sum: h.sum}, m.Number, m.At.UnixNano())
		return nil
	}
	if s.left == 0 && s.Take(h, m.Number, m.At.UnixNano()) != taken {
		return nil
	}
	for i := s.next; i < len(msg.items); i++ {
		it := msg.items[i]
		if !s.Next(it.epoch) {
			continue
		}
		if c, ok := it.own.(Void); ok {
			if s.wants(c) {
				out = append(out, c)
			}
		} else if it.own != nil {
			s.Apply(h, it.own)
		}
	}
	return out
}

// bounds asks where the log ends, and whether it begins early enough. A database
// that is ahead of it belongs to another log, or that one has lost what it had:
// this is looked at again for a while, because the server that answered may be
// behind.
func (o *Options) bounds(ctx context.Context, s *state) (last uint64, err error) {
	for began := o.Clock(); ; {
		first, last, err := o.Log.Bounds(ctx)
		late := o.Clock().Sub(began) >= o.Patience
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err == nil && last >= s.number && first > s.following():
			return 0, fmt.Errorf("%w: it has executed message %d, and the log begins at %d", ErrTrimmed, s.number, first)
		case err == nil && last >= s.number:
			return last, nil
		case err == nil && late:
			return 0, fmt.Errorf("%w: it has executed %d, and the log ends with %d", ErrAhead, s.number, last)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(o.Patience / 20):
		}
	}
}

// Faults break a node on purpose, for tests of the tests: each of them must be
// found. They are for nothing else; the zero value has none.
type Faults struct {
	OKBeforeAppend bool // a command is executed here before it has its place
	NoWaitForReads bool // Latest waits for nothing
	SkipACommand   bool // now and then a command of another node is not executed
	OwnTime        bool // a command's time is the machine's when it is executed
	EndFromLog     bool // Latest asks one server for the log's end
	IgnoreCounters bool // batches are taken whatever their boot and counter
	IgnoreEpochs   bool // commands are taken whatever lease they were given under
	IgnoreNumbers  bool // an acknowledgement may have any number
	IgnoreTrails   bool // what senders have read is not compared
	NoHold         bool // what is read is executed while nobody knows what the majority has read
	TrustStamps    bool // the log's time is what its server says
	CountTheGone   bool // members count that are gone
	StrikeByStamps bool // who leads strikes out by the log's time
	LeadByAnyClock bool // who leads may have any clock
	StrikeSoon     bool // who leads strikes out after seconds
	StrikeTheIdle  bool // who leads strikes out by a log that nobody uses
	AgainUnasked   bool // who was struck out joins again whatever others have read
	AgainOften     bool // and as often as it is struck out
	AnyQuestion    bool // an answer may be about any question
	AnyBoot        bool // and of any boot of its member
	BelowDurable   bool // and say less than what is durable there
	AnyEnd         bool // and more than there can be
	SameMembers    bool // who has become a member since a question was asked is not asked
	AckUnknown     bool // a new member acknowledges before others know it
	TrustServers   bool // commands are taken whatever is known of the log's servers
	RefuseSoon     bool // and they are looked at often, and refused after a second
}

// skipEvery is how many commands of other nodes there are for each that
// SkipACommand leaves out.
const skipEvery = 17

// executeAhead is Faults.OKBeforeAppend.
func executeAhead(ctx context.Context, n *Node, c store.Command, p *pending) error {
	n.mu.Lock()
	placed := store.Placed{Place: store.LogPlace{Number: n.seen.number, Index: maxCommands}, At: n.seen.time / int64(time.Second), Command: c, Ticket: p.ticket}
	n.mu.Unlock()
	p.ticket = nil
	return n.o.Executor.Execute(ctx, []store.Placed{placed})
}
