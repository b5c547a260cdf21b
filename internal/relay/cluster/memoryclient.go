package cluster

import (
	"context"
	"sync"
	"time"
)

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
