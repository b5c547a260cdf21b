package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// answering is a transport that reports the end of its input only once every
// call is answered. When the SDK sees the end it gives up calls and stops
// writing; but a peer that has closed its side, like a shell that pipes a file,
// still reads.
type answering struct {
	sdk.Transport
	limit time.Duration // how long to wait for the answers
	life  context.Context
	end   func() // gives up what is not answered then
	clock func() time.Time
}

const (
	// lastAnswers is how long a peer that has closed its side gets answers.
	lastAnswers = 4 * time.Second
	// lastWords is how long calls that are given up may take to end.
	lastWords = 500 * time.Millisecond
)

// Connect implements sdk.Transport.
func (a *answering) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := a.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &answeringConn{Connection: conn, limit: a.limit, life: a.life, end: a.end, clock: a.clock, idle: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

type answeringConn struct {
	sdk.Connection
	limit time.Duration
	life  context.Context
	end   func()
	clock func() time.Time
	idle  chan struct{} // has a token when a call was answered and none is open

	mu     sync.Mutex
	open   int // calls without an answer
	once   sync.Once
	closed chan struct{}
}

// Read implements sdk.Connection.
func (c *answeringConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if err != nil {
		c.settle(ctx)
		c.end()
		return msg, err
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		c.mu.Lock()
		c.open++
		c.mu.Unlock()
		req.Extra = arrived(c.clock())
	}
	return msg, nil
}

// Write implements sdk.Connection.
func (c *answeringConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	if _, ok := msg.(*jsonrpc.Response); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open--; c.open <= 0 {
			select {
			case c.idle <- struct{}{}:
			default:
			}
		}
	}
	return err
}

// Close implements sdk.Connection.
func (c *answeringConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

// settle waits until nothing is open.
func (c *answeringConn) settle(ctx context.Context) {
	timeout := time.NewTimer(c.limit)
	defer timeout.Stop()
	for {
		c.mu.Lock()
		open := c.open
		c.mu.Unlock()
		if open <= 0 {
			return
		}
		select {
		case <-c.idle:
		case <-c.closed:
			return
		case <-c.life.Done():
			return
		case <-ctx.Done():
			return
		case <-timeout.C:
			return
		}
	}
}
