package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrClosed means that the Client has been closed.
var ErrClosed = errors.New("the client is closed")

// slot holds the one connection to a relay. Whoever has its token may look at
// conn and replace it; it is held while dialling, so that there is one dial.
type slot struct {
	token chan struct{}
	conn  *Conn
	gone  chan struct{} // closed with the client
}

// shut ends the connection. A dial that is under way sees to its own.
func (s *slot) shut() {
	close(s.gone)
	select {
	case s.token <- struct{}{}:
	default:
		return
	}
	defer func() { <-s.token }()
	if s.conn != nil {
		s.conn.end(fmt.Errorf("%w: %w", ErrLost, ErrClosed))
	}
}

func (s *slot) isShut() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// pool holds the connections of a client, one to each relay.
type pool struct {
	id Identity
	o  Options

	mu     sync.Mutex
	slots  map[string]*slot // by canonical URL
	closed bool
}

func (p *pool) slot(t Target) (*slot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	s := p.slots[t.Canonical]
	if s == nil {
		s = &slot{token: make(chan struct{}, 1), gone: make(chan struct{})}
		p.slots[t.Canonical] = s
	}
	return s, nil
}

// close ends all connections. What is asked for later fails.
func (p *pool) close() {
	p.mu.Lock()
	slots := p.slots
	p.closed, p.slots = true, map[string]*slot{}
	p.mu.Unlock()
	for _, s := range slots {
		s.shut()
	}
}

// acquire returns the connection to a relay, and whether it was there before.
// One that has been idle for long is not trusted and made anew, and so is old,
// if it is the present one: the caller found it dead.
func (p *pool) acquire(ctx context.Context, t Target, old *Conn) (conn *Conn, reused bool, err error) {
	if t.Err != nil {
		return nil, false, t.Err
	}
	s, err := p.slot(t)
	if err != nil {
		return nil, false, err
	}
	select {
	case s.token <- struct{}{}:
	case <-s.gone:
		return nil, false, ErrClosed
	case <-ctx.Done():
		return nil, false, fmt.Errorf("%w: it did not accept the connection", ErrTimeout)
	}
	defer func() { <-s.token }()
	if s.conn != nil && s.conn != old && s.conn.ended() == nil && s.conn.waiting.recent(time.Now()) {
		return s.conn, true, nil
	}
	if s.conn != nil {
		s.conn.end(fmt.Errorf("%w: replaced", ErrLost))
		s.conn = nil
	}
	fresh, err := dial(ctx, t, p.id, p.o)
	if err != nil {
		return nil, false, err
	}
	if s.isShut() {
		fresh.end(fmt.Errorf("%w: %w", ErrLost, ErrClosed))
		return nil, false, ErrClosed
	}
	s.conn = fresh
	return fresh, false, nil
}

// With calls use with a connection to the relay. If a connection that was kept
// from before turns out to be dead, use is called once more with a new one: it
// must be something that may be sent twice.
func (c *Client) With(ctx context.Context, t Target, use func(*Conn) error) error {
	conn, reused, err := c.pool.acquire(ctx, t, nil)
	if err != nil {
		return err
	}
	err = use(conn)
	if !reused || !errors.Is(err, ErrLost) || ctx.Err() != nil {
		return err
	}
	if conn, _, err = c.pool.acquire(ctx, t, conn); err != nil {
		return err
	}
	return use(conn)
}

// Connect returns a connection to the relay, for a question that stays open.
func (c *Client) Connect(ctx context.Context, t Target) (*Conn, error) {
	conn, _, err := c.pool.acquire(ctx, t, nil)
	return conn, err
}
