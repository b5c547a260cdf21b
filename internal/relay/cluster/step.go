package cluster

import "engramd/internal/relay/store"

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
		s.pass(st.place.Number, st.at)
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
