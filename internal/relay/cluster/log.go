// Package cluster makes one store of several: what is written goes through one
// ordered durable log, and every node executes what the log says. DESIGN.md says
// how, and why.
package cluster

import (
	"context"
	"errors"
	"sync"
	"time"
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
	ErrUnknown = errors.New("the log did not answer in time: it is not known what became of this")
	// ErrStopped means that this node executes no more commands.
	ErrStopped = errors.New("this node has left the order of commands")
)

// Memory is a log in memory, for tests. Nodes append and read through clients
// of it (Client), each of which can lose, delay and be cut off.
type Memory struct {
	now func() time.Time
	max int

	mu      sync.Mutex
	first   uint64
	list    []Message
	stopped bool
	changed chan struct{} // closed, and made anew, at every change
}

// NewMemory makes an empty log that takes messages of up to 4 MiB and stamps
// them with a clock.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, max: 4 << 20, first: 1, changed: make(chan struct{})}
}

// Fate is what becomes of one append.
type Fate struct {
	Delay   time.Duration // until it enters; what the client appends later waits too
	Lost    bool          // it does not enter, and is answered with an error
	Late    time.Duration // it is answered with an error, and enters so much after that
	Silent  bool          // it enters, and is answered with an error
	Timeout time.Duration // after which errors are answered
}

// MemoryOptions say how a client of a Memory fails. The zero value does not.
type MemoryOptions struct {
	Fate   func() Fate // asked for each append
	Behind uint64      // how many of the last messages Bounds does not know of
}

var errMemory = errors.New("the log did not answer")

// Client makes a client.
func (m *Memory) Client(o MemoryOptions) *MemoryClient {
	if o.Fate == nil {
		o.Fate = func() Fate { return Fate{} }
	}
	return &MemoryClient{log: m, o: o}
}

// Stop makes the log take nothing and give nothing, until it is called with
// false.
func (m *Memory) Stop(stop bool) { m.change(func() { m.stopped = stop }) }

// Len returns the number of the last message.
func (m *Memory) Len() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.first + uint64(len(m.list)) - 1
}

func (m *Memory) change(fn func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fn()
	close(m.changed)
	m.changed = make(chan struct{})
}

// enter puts a message at the log's end, unless that is stopped.
func (m *Memory) enter(data []byte) (number uint64, err error) {
	m.change(func() {
		if m.stopped {
			err = errMemory
			return
		}
		number = m.first + uint64(len(m.list))
		m.list = append(m.list, Message{Number: number, At: m.now(), Data: data})
	})
	return number, err
}
