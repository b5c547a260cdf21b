package attestation

import (
	"encoding/hex"
	"errors"
	"fmt"

	"engramd/internal/protocol/writerlog"
)

var (
	// ErrInconsistent means that today's log does not begin with the one that was
	// attested: it was rewritten, forked or rolled back.
	ErrInconsistent = errors.New("today's log is not a continuation of the one that was attested")
	// ErrForeign means that somebody else has signed it.
	ErrForeign = errors.New("another agent has signed it")
	// ErrUnknown means that too little of today's log is known to tell.
	ErrUnknown = errors.New("it cannot be told whether today's log continues the one that was attested")
)

// Log is what is known of a writer's log now.
type Log struct {
	IDs  []writerlog.Hash // of numbers 0 on, as far as they are known without a gap
	Fork int64            // the first number that two ids are known of; -1: none
	// Own says that it is the writer's own record: there are no numbers behind IDs.
	Own bool
}

// Known returns what events and log units tell of a log. Those must be the
// agent's; what one event says of another (prev, void) counts too. It takes no
// time for numbers that are claimed and not told of.
func Known(w string, events map[string]writerlog.Event, units []writerlog.Unit) Log {
	of, log := map[int64]writerlog.Hash{}, Log{Fork: -1}
	know := func(n int64, id writerlog.Hash) {
		if was, ok := of[n]; ok && was != id && (log.Fork < 0 || n < log.Fork) {
			log.Fork = n
		}
		of[n] = id
	}
	say := func(n int64, digits string) {
		if id, ok := writerlog.ParseID(digits); ok {
			know(n, id)
		}
	}
	for id, e := range events {
		l := e.Link
		if l == nil {
			continue
		}
		for _, h := range l.After {
			if h.W == w {
				say(h.N, h.ID)
			}
		}
		if l.W != w {
			continue
		}
		say(l.N, id)
		if l.Prev != "" {
			say(l.N-1, l.Prev)
		}
		for _, v := range l.Void {
			say(v.N, v.ID)
		}
	}
	for _, u := range units {
		if u.W != w {
			continue
		}
		for i, id := range u.IDs {
			know(u.First+int64(i), id)
		}
		for _, v := range u.Void {
			say(v.N, v.ID)
		}
	}
	for n := int64(0); ; n++ {
		id, ok := of[n]
		if !ok {
			return log
		}
		log.IDs = append(log.IDs, id)
	}
}

// Check proves that the log begins with what was attested, by a proof of
// consistency (RFC 6962, 2.1.2), and returns the root of all that is known of it,
// in hex. The error is ErrInconsistent or ErrUnknown.
func Check(a Attestation, log Log) (root string, err error) {
	var tree writerlog.Tree
	for _, id := range log.IDs {
		tree.Append(id)
	}
	size := tree.Size()
	now := tree.Root(size)
	root = hex.EncodeToString(now[:])
	switch {
	case log.Fork >= 0 && log.Fork < a.N:
		return root, fmt.Errorf("%w: two events have the number %d", ErrInconsistent, log.Fork)
	case size < a.N && log.Own:
		return root, fmt.Errorf("%w: it had %d numbers, and has %d", ErrInconsistent, a.N, size)
	case size < a.N:
		return root, fmt.Errorf("%w: the ids of its first %d numbers are known, and it had %d", ErrUnknown, size, a.N)
	}
	proof, err := tree.Proof(size, a.N)
	if err != nil {
		return root, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if err := writerlog.CheckProof(proof, size, now, a.N, a.Root); err != nil {
		return root, fmt.Errorf("%w: its first %d numbers have another root", ErrInconsistent, a.N)
	}
	return root, nil
}
