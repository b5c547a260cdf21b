package client

import (
	"strconv"
	"time"
)

// subscription is a REQ that waits for answers.
type subscription struct {
	answers chan message
	gone    chan struct{} // closed when nobody takes answers any more
}

// acknowledgement is an event that waits for its OK.
type acknowledgement struct {
	answer  chan message
	waiters int
}

// subscribe opens a place for the answers to a REQ; give it back with leave.
func (c *conn) subscribe() (id string, s *subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nextSub++
	id = "q" + strconv.Itoa(c.nextSub)
	s = &subscription{answers: make(chan message, 16), gone: make(chan struct{})}
	c.subs[id] = s
	c.begin()
	return id, s
}

func (c *conn) leave(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.subs[id].gone)
	delete(c.subs, id)
	c.finish()
}

// expectOK opens a place for an event's OK; give it back with forget.
func (c *conn) expectOK(id string) *acknowledgement {
	c.mu.Lock()
	defer c.mu.Unlock()
	ack := c.oks[id]
	if ack == nil {
		ack = &acknowledgement{answer: make(chan message, maxAuths)}
		c.oks[id] = ack
	}
	ack.waiters++
	c.begin()
	return ack
}

func (c *conn) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ack := c.oks[id]; ack != nil {
		if ack.waiters--; ack.waiters == 0 {
			delete(c.oks, id)
		}
	}
	c.finish()
}

// begin and finish bracket every wait. mu is held.
func (c *conn) begin() { c.waiting++; c.quiet = 0; c.lastUsed = time.Now() }

func (c *conn) finish() { c.waiting--; c.lastUsed = time.Now() }
