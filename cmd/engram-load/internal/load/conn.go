package load

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// MaxMessage is the size in bytes of the largest message that is taken.
const MaxMessage = 8 << 20

// Conn is a websocket to a relay (RFC 6455, no extensions, so no compression).
// One goroutine reads; writing is safe from several. It lives no longer than
// the context it was dialled with.
//
// It is written for this package because a general library copies, masks and
// writes each message for itself: here many frames that were masked ahead of
// time go out in one write, and what comes in is parsed where it lies.
type Conn struct {
	net  net.Conn
	ctx  context.Context
	stop func() bool // of what ends it with the context
	rand io.Reader

	buf        []byte // what was read: [start:end] is not used up
	start, end int
	message    []byte // joined fragments

	writing sync.Mutex
	out     []byte // scratch of Send
}

// DialOptions are of one connection.
type DialOptions struct {
	Buffer int       // first size of the read buffer in bytes; 0 is 32 KiB
	Rand   io.Reader // for masks; nil is crypto/rand.Reader
}

// Dial connects and shakes hands.
func Dial(ctx context.Context, url string, o DialOptions) (*Conn, error) {
	if o.Buffer == 0 {
		o.Buffer = 32 << 10
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	socket, host, path, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	c := &Conn{net: socket, ctx: ctx, rand: o.Rand, buf: make([]byte, max(o.Buffer, 256))}
	c.stop = context.AfterFunc(ctx, func() { socket.SetDeadline(time.Unix(1, 0)) })
	if err := c.shake(host, path); err != nil {
		c.Close()
		return nil, fmt.Errorf("handshake with %s: %w", url, err)
	}
	return c, nil
}

// Close ends the connection without ceremony.
func (c *Conn) Close() error {
	c.stop()
	return c.net.Close()
}

// Buffered reports whether the next message is, at least in part, here already:
// whether Read may return without waiting for the network.
func (c *Conn) Buffered() bool { return c.end > c.start }

// endWith makes reads and writes fail when ctx ends, for one that is narrower
// than the connection's own. The function returned undoes that.
func (c *Conn) endWith(ctx context.Context) (undo func() bool) {
	return context.AfterFunc(ctx, func() { c.net.SetDeadline(time.Unix(1, 0)) })
}

// failure is err, or why the context ended if it did.
func (c *Conn) failure(doing string, err error) error {
	if cause := context.Cause(c.ctx); cause != nil {
		return fmt.Errorf("%s: %w", doing, cause)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %w", doing, ErrClosed)
	}
	return fmt.Errorf("%s: %w: %w", doing, ErrClosed, err)
}
