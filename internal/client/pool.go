package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errClosed means that the Client has been closed.
var errClosed = errors.New("the client is closed")

// slot holds the one connection to a relay. Whoever has its token may look at
// conn and replace it; it is held while dialling, so that there is one dial.
type slot struct {
	token chan struct{}
	conn  *conn
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
		s.conn.end(fmt.Errorf("%w: %w", errLost, errClosed))
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

// slot returns the relay's slot.
func (c *Client) slot(t target) (*slot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	s := c.slots[t.canonical]
	if s == nil {
		s = &slot{token: make(chan struct{}, 1), gone: make(chan struct{})}
		c.slots[t.canonical] = s
	}
	return s, nil
}

// acquire returns the connection to a relay, and whether it was there before.
// One that has been idle for long is not trusted and made anew, and so is old,
// if it is the present one: the caller found it dead.
func (c *Client) acquire(ctx context.Context, t target, old *conn) (conn *conn, reused bool, err error) {
	if t.err != nil {
		return nil, false, t.err
	}
	s, err := c.slot(t)
	if err != nil {
		return nil, false, err
	}
	select {
	case s.token <- struct{}{}:
	case <-s.gone:
		return nil, false, errClosed
	case <-ctx.Done():
		return nil, false, fmt.Errorf("%w: it did not accept the connection", ErrTimeout)
	}
	defer func() { <-s.token }()
	if s.conn != nil && s.conn != old && s.conn.fresh(time.Now()) {
		return s.conn, true, nil
	}
	if s.conn != nil {
		s.conn.end(fmt.Errorf("%w: replaced", errLost))
		s.conn = nil
	}
	fresh, err := dial(ctx, t, c.id, c.o, c.tracer(t.url))
	if err != nil {
		return nil, false, err
	}
	if s.isShut() {
		fresh.end(fmt.Errorf("%w: %w", errLost, errClosed))
		return nil, false, errClosed
	}
	s.conn = fresh
	return fresh, false, nil
}

// with calls use with a connection to the relay. If a connection that was kept
// from before turns out to be dead, use is called once more with a new one: it
// must be something that may be sent twice.
func (c *Client) with(ctx context.Context, t target, use func(*conn) error) error {
	conn, reused, err := c.acquire(ctx, t, nil)
	if err != nil {
		return err
	}
	err = use(conn)
	if !reused || !errors.Is(err, errLost) || ctx.Err() != nil {
		return err
	}
	if conn, _, err = c.acquire(ctx, t, conn); err != nil {
		return err
	}
	return use(conn)
}
