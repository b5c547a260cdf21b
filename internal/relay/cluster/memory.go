package cluster

import (
	"errors"
	"sync"
	"time"
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
