package work

import (
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
)

// Conn is a client's way to one node, made anew when it is lost.
type Conn struct {
	Node int
	url  func(int) string
	c    *relaytest.Client
}

// NewConn is one to a node, of which url says where it listens now.
func NewConn(node int, url func(int) string) *Conn { return &Conn{Node: node, url: url} }

// Close ends it.
func (c *Conn) Close() {
	if c.c != nil {
		c.c.Close()
		c.c = nil
	}
}

// patience is a little more than a node waits for the log.
const patience = 25 * time.Second

func (c *Conn) open() (*relaytest.Client, error) {
	if c.c != nil {
		return c.c, nil
	}
	cl, err := relaytest.Connect(c.url(c.Node), nil)
	if err == nil {
		cl.Patience = patience
		c.c = cl
	}
	return cl, err
}

func (c *Conn) publish(ev *nostr.Event) (relaytest.OK, error) {
	cl, err := c.open()
	if err != nil {
		return relaytest.OK{}, err
	}
	ok, err := cl.Publish(ev)
	if err != nil {
		c.Close()
	}
	return ok, err
}

// Query asks. Without an error the answer is whole, or CLOSED.
func (c *Conn) Query(filter relaytest.Filter) (relaytest.Answer, error) {
	cl, err := c.open()
	if err != nil {
		return relaytest.Answer{}, err
	}
	a, err := cl.Query(filter)
	if err != nil {
		c.Close()
	}
	return a, err
}
