// Package cluster makes one store of several: what is written goes through one
// ordered durable log, and every node executes what the log says. DESIGN.md says
// how, and why.
package cluster

import (
	"context"
	"errors"
	"time"

	"engramd/internal/relay/store"
)

// Log is an ordered durable log that several nodes append to and read.
type Log interface {
	// Append appends a message. Messages that one goroutine appends enter in the
	// order of the calls, unless one fails. done is called once, from any
	// goroutine: with the message's number when it is durable on a majority of
	// servers, or with an error, after which it may have entered all the same.
	Append(message []byte, done func(number uint64, err error))
	// Read calls fn for every message from a number on, in order and without a
	// gap, and goes on with those that come, through lost connections, until ctx
	// ends or fn fails. The error is ErrTrimmed if the first one that is wanted
	// is not there any more.
	Read(ctx context.Context, from uint64, fn func(Message) error) error
	// Bounds returns the numbers of the first message that is there and of the
	// last, as one server tells them: for checks at a start, never to answer
	// what is current. An empty log has last = first - 1.
	Bounds(ctx context.Context) (first, last uint64, err error)
	// Trim removes the messages below a number.
	Trim(ctx context.Context, below uint64) error
	// MaxMessage is how many bytes one message may have.
	MaxMessage() int
}

// Message is one message of the log. Numbers begin at 1 and ascend by one,
// except where the log was trimmed.
type Message struct {
	Number uint64
	At     time.Time // when the log stored it
	Data   []byte
}

var (
	// ErrTrimmed means that messages which a node needs are not in the log any
	// more: it must join again.
	ErrTrimmed = errors.New("the log does not go back as far as this node's database")
	// ErrUnknown means that it is not known whether something entered the log.
	ErrUnknown = store.ErrUnanswered
	// ErrStopped means that this node executes no more commands.
	ErrStopped = errors.New("this node has left the order of commands")
)
