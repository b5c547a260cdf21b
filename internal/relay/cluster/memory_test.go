package cluster

import (
	"context"
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
	Fate   func() Fate           // asked for each append
	Behind uint64                // how many of the last messages Bounds does not know of
	Alter  func(Message) Message // what is read instead, nil for the same
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

// Back makes the log end at a number, as servers do that lost what they had.
func (m *Memory) Back(number uint64) {
	m.change(func() { m.list = m.list[: number+1-m.first : number+1-m.first] })
}

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

// MemoryClient is the Log of one node.
type MemoryClient struct {
	log *Memory
	o   MemoryOptions

	pumps   sync.WaitGroup
	mu      sync.Mutex
	queue   []memoryAppend
	pumping bool
	cut     bool
	closed  bool
}

type memoryAppend struct {
	message []byte
	done    func(uint64, error)
}

var _ Log = (*MemoryClient)(nil)

// Cut cuts the client off, until it is called with false.
func (c *MemoryClient) Cut(cut bool) {
	c.mu.Lock()
	c.cut = cut
	c.mu.Unlock()
	c.log.change(func() {})
}

// Close forgets what has not entered, except what was to be late.
func (c *MemoryClient) Close() {
	c.mu.Lock()
	c.closed, c.queue = true, nil
	c.mu.Unlock()
	c.pumps.Wait()
}

// Append implements Log.
func (c *MemoryClient) Append(message []byte, done func(uint64, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.queue = append(c.queue, memoryAppend{append([]byte(nil), message...), done})
	if !c.pumping {
		c.pumping = true
		c.pumps.Go(c.pump)
	}
}

// pump lets what was appended meet its fate, one after the other.
func (c *MemoryClient) pump() {
	for {
		c.mu.Lock()
		if len(c.queue) == 0 {
			c.pumping = false
			c.mu.Unlock()
			return
		}
		a := c.queue[0]
		c.queue = c.queue[1:]
		c.mu.Unlock()
		c.meet(a, c.o.Fate())
	}
}

func (c *MemoryClient) meet(a memoryAppend, f Fate) {
	if f.Delay > 0 {
		time.Sleep(f.Delay)
	}
	c.mu.Lock()
	cut, closed := c.cut, c.closed
	c.mu.Unlock()
	fail := func() { a.done(0, errMemory) }
	switch {
	case closed:
	case f.Late > 0:
		time.AfterFunc(f.Timeout, fail)
		time.AfterFunc(f.Timeout+f.Late, func() { c.log.enter(a.message) })
	case f.Lost || cut:
		time.AfterFunc(f.Timeout, fail)
	default:
		number, err := c.log.enter(a.message)
		if err != nil || f.Silent {
			time.AfterFunc(f.Timeout, fail)
			return
		}
		a.done(number, nil)
	}
}

// Read implements Log.
func (c *MemoryClient) Read(ctx context.Context, from uint64, fn func(Message) error) error {
	for {
		m, changed, err := c.next(from)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if m.Number == from {
			if c.o.Alter != nil {
				m = c.o.Alter(m)
			}
			if err := fn(m); err != nil {
				return err
			}
			from++
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// next returns a message, or what is closed when it may be there.
func (c *MemoryClient) next(number uint64) (Message, <-chan struct{}, error) {
	m := c.log
	m.mu.Lock()
	defer m.mu.Unlock()
	c.mu.Lock()
	cut := c.cut
	c.mu.Unlock()
	switch at := number - m.first; {
	case number < m.first:
		return Message{}, nil, ErrTrimmed
	case cut || m.stopped || at >= uint64(len(m.list)):
		return Message{}, m.changed, nil
	default:
		return m.list[at], nil, nil
	}
}

// Bounds implements Log.
func (c *MemoryClient) Bounds(context.Context) (first, last uint64, err error) {
	m := c.log
	m.mu.Lock()
	defer m.mu.Unlock()
	last = m.first + uint64(len(m.list)) - 1
	return m.first, max(m.first-1, last-min(last, c.o.Behind)), nil
}

// Trim implements Log.
func (c *MemoryClient) Trim(_ context.Context, below uint64) error {
	m := c.log
	m.change(func() {
		if n := min(max(below, m.first)-m.first, uint64(len(m.list))); n > 0 {
			m.list = append([]Message(nil), m.list[n:]...)
			m.first += n
		}
	})
	return nil
}

// MaxMessage implements Log.
func (c *MemoryClient) MaxMessage() int { return c.log.max }
