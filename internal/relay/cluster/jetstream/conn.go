package jetstream

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	dialLimit     = 2 * time.Second // a server that takes connections and says nothing costs this much
	pingEvery     = time.Second     // two without an answer, and the server is gone
	reconnectWait = 100 * time.Millisecond
	askLimit      = 4 * time.Second // for one question to the stream
	openLimit     = 30 * time.Second
)

// Conn is a connection to the log. All its methods are safe for concurrent use.
type Conn struct {
	o       Options
	id      string // of this connection: what it sent itself is ignored
	subject string // of the log
	tls     *tls.Config

	nc   *nats.Conn // the log
	side *nats.Conn // ephemeral events and backups
	js   jetstream.JetStream
	up   atomic.Bool // whether nc is connected: asking nc would wait while it connects

	created atomic.Int64                     // when the stream was made, by the first look at it
	stream  atomic.Pointer[jetstream.Stream] // as the last look found it

	mu      sync.Mutex
	closed  bool
	inbox   string // where answers to appends come, one word is added
	last    uint64 // the newest token
	pending map[uint64]*pending
	link    context.Context // of the connection that there is: it ends when that is lost
	cut     context.CancelFunc
	failing time.Time // since when this server acknowledges nothing; zero if it does
}

// Open connects to one of the servers, and tries for as long as ctx allows, 30 s
// at most. It looks at nothing: see Check. The error is ErrOptions, or that no
// server could be reached.
func Open(ctx context.Context, o Options) (*Conn, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	c := &Conn{o: o, id: nats.NewInbox()[len(nats.InboxPrefix):], subject: "engramd.log." + o.Stream,
		pending: map[uint64]*pending{}}
	c.link, c.cut = context.WithCancel(context.Background())
	var err error
	if c.tls, err = o.transport(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	if c.nc, err = c.connect(ctx, "engramd log", c.o.Credentials,
		nats.DisconnectErrHandler(c.disconnected), nats.ReconnectHandler(c.reconnected), nats.ClosedHandler(c.ended)); err != nil {
		return nil, err
	}
	c.up.Store(true)
	if c.side, err = c.connect(ctx, "engramd side", c.o.Credentials); err != nil {
		c.Close()
		return nil, err
	}
	if c.js, err = jetstream.New(c.nc, jetstream.WithDefaultTimeout(askLimit)); err == nil {
		err = c.listen()
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("JetStream: %w", err)
	}
	return c, nil
}

// Close ends both connections. Appends without an answer fail.
func (c *Conn) Close() {
	c.mu.Lock()
	c.closed = true
	c.cut()
	c.mu.Unlock()
	c.up.Store(false)
	if c.side != nil {
		c.side.Close()
	}
	if c.nc != nil {
		c.nc.Close()
	}
	c.failAll()
}

// asking bounds a question: nobody will hear its answer when the connection is lost.
func (c *Conn) asking(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	stop := context.AfterFunc(c.linked(), cancel)
	return ctx, func() { stop(); cancel() }
}

// linked ends when the connection that there is now is lost.
func (c *Conn) linked() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link
}

// disconnected: nobody will hear the answers to what was sent.
func (c *Conn) disconnected(_ *nats.Conn, err error) {
	c.mu.Lock()
	c.cut()
	c.link, c.cut = context.WithCancel(context.Background())
	c.mu.Unlock()
	if c.up.Swap(false) {
		c.o.Log.Warn("the connection to the log is lost", "err", err)
	}
	c.failAll()
}

func (c *Conn) reconnected(nc *nats.Conn) {
	c.mu.Lock()
	closed := c.closed
	c.failing = time.Time{}
	c.mu.Unlock()
	c.up.Store(!closed)
	c.o.Log.Info("connected to the log again", "server", nc.ConnectedServerName())
}

func (c *Conn) ended(*nats.Conn) {
	c.up.Store(false)
	c.failAll()
}
