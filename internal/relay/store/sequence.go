package store

import (
	"context"
	"fmt"
)

// A store may be one of several that execute the same commands in the same
// order and so have the same rows (docs/cluster.md). What is written is then handed
// to a Sequencer instead of the writer, and executed when it comes back with its
// place, through the store's Execute.

// Sequencer gives the commands of several stores one order.
// *cluster.Node is one. Its methods but Append and Leads are called on the
// goroutine of the store's writer, and must not wait for the store.
type Sequencer interface {
	// Append takes a command over that is to have a place in the order. Once it
	// returned nil, the command comes back through Execute with its ticket, or
	// the ticket fails; after it failed the command may still come, as another's
	// would. It blocks while too much waits (fairness.From of ctx says whose turn it
	// is).
	Append(ctx context.Context, c Command, t Ticket) error
	// State is given what a transaction executed, in order, before it is
	// committed, and returns what is to be stored with it. Transactions that fail
	// are tried again: what counts is the last call before Durable. It begins
	// where the last durable transaction ended, and leaves no place out. nil means
	// that this is not what came next: the transaction must not be committed.
	State(done []Done) []byte
	// Durable says that the transaction of the last State is durable.
	Durable()
	// Halt says that a command could not be executed as every other store
	// executes it, and that this one executes no more.
	Halt(err error)
	// Leads reports whether this store is the one that gives the commands which
	// none of them is asked for: housekeeping, retention. Lease returns the
	// context to give them in: they do nothing once another store leads.
	Leads() bool
	Lease(ctx context.Context) context.Context
}

// Ticket is whoever waits for a command on its way through a Sequencer.
type Ticket interface {
	// Fail answers who waits, unless the command's own answer came first: what
	// became of the command is not known.
	Fail(err error)
}

// LogPlace is where a command stands in the order: the number of the message that
// brought it, ascending, and its index in that message.
type LogPlace struct {
	Number uint64
	Index  int
}

// Placed is a command with its place. Without a command there is nothing to
// execute, and the place is noted.
type Placed struct {
	Place   LogPlace
	At      int64 // Unix seconds, never less than before: the time at which it is executed
	Command Command
	Ticket  Ticket // as it was given to Append of this very store, nil for another's
}

// Done is a command that was executed, and what became of it.
type Done struct {
	Place   LogPlace
	Outcome Outcome  // of an event; Stored for any other command that was executed, Refused for one that was refused
	Digest  [32]byte // of what was executed: an event's id, else the SHA-256 of the command's encoding
}

// Orders has a command executed and waits until it is durable, or failed. It
// returns the command's answer, nil for one that has none.
type Orders func(ctx context.Context, c Command) (answer any, err error)

// Tell is for a command that has no answer.
func (o Orders) Tell(ctx context.Context, c Command) error {
	_, err := o(ctx, c)
	return err
}

// Answer is for a command that is answered with a T.
func Answer[T any](ctx context.Context, o Orders, c Command) (answer T, err error) {
	v, err := o(ctx, c)
	if err != nil {
		return answer, err
	}
	answer, ok := v.(T)
	if !ok {
		return answer, fmt.Errorf("%T was answered with %T", c, v)
	}
	return answer, nil
}
