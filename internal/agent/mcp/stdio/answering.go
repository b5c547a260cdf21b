package stdio

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Answering is a transport that reports the end of its input only once every
// call is answered. When the SDK sees the end it gives up calls and stops
// writing; but a peer that has closed its side, like a shell that pipes a file,
// still reads.
type Answering struct {
	sdk.Transport
	Limit   time.Duration // how long to wait for the answers
	Life    context.Context
	End     func()                   // gives up what is not answered then
	Arrived func() *sdk.RequestExtra // is noted of a call that came
}

// LastAnswers is how long a peer that has closed its side gets answers.
const LastAnswers = 4 * time.Second

// Connect implements sdk.Transport.
func (a *Answering) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := a.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &answeringConn{Connection: conn, Answering: a, idle: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

type answeringConn struct {
	sdk.Connection
	*Answering
	idle chan struct{} // has a token when a call was answered and none is open

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
		c.End()
		return msg, err
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
		c.mu.Lock()
		c.open++
		c.mu.Unlock()
		req.Extra = c.Arrived()
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
	timeout := time.NewTimer(c.Limit)
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
		case <-c.Life.Done():
			return
		case <-ctx.Done():
			return
		case <-timeout.C:
			return
		}
	}
}
