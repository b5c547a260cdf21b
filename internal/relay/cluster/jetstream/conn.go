package jetstream

import (
	"context"
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
	setup
	side
	nc *nats.Conn // the log
	js jetstream.JetStream
	up atomic.Bool // whether nc is connected: asking nc would wait while it connects

	created atomic.Int64                     // when the stream was made, by the first look at it
	stream  atomic.Pointer[jetstream.Stream] // as the last look found it
	inbox   string                           // where answers to appends come, one word is added
	appends appends
	link    link
}

// link ends when the connection that there is now is lost.
type link struct {
	mu  sync.Mutex
	now context.Context
	cut context.CancelFunc
}

// lost ends what waits for the connection, and begins another one.
func (l *link) lost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut != nil {
		l.cut()
	}
	l.now, l.cut = context.WithCancel(context.Background())
}

// end cuts what waits on the connection, and what begins later.
func (l *link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut != nil {
		l.cut()
	}
}

// context ends when the connection that there is now is lost.
func (l *link) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// asking bounds a question: nobody will hear its answer when the connection is lost.
func (l *link) asking(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	stop := context.AfterFunc(l.context(), cancel)
	return ctx, func() { stop(); cancel() }
}

// Open connects to one of the servers, and tries for as long as ctx allows, 30 s
// at most. It looks at nothing: see Check. The error is ErrOptions, or that no
// server could be reached.
func Open(ctx context.Context, o Options) (*Conn, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	c := &Conn{setup: setup{o: o}, side: side{id: nats.NewInbox()[len(nats.InboxPrefix):], stream: o.Stream, log: o.Log}}
	c.appends.pending = map[uint64]*pending{}
	c.link.lost()
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
	if c.side.nc, err = c.connect(ctx, "engramd side", c.o.Credentials); err != nil {
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
	c.appends.mu.Lock()
	c.appends.closed = true
	c.appends.mu.Unlock()
	c.link.end()
	c.up.Store(false)
	if c.side.nc != nil {
		c.side.nc.Close()
	}
	if c.nc != nil {
		c.nc.Close()
	}
	c.appends.failAll()
}

// disconnected: nobody will hear the answers to what was sent.
func (c *Conn) disconnected(_ *nats.Conn, err error) {
	c.link.lost()
	if c.up.Swap(false) {
		c.o.Log.Warn("the connection to the log is lost", "err", err)
	}
	c.appends.failAll()
}

func (c *Conn) reconnected(nc *nats.Conn) {
	closed := c.appends.acknowledged()
	c.up.Store(!closed)
	c.o.Log.Info("connected to the log again", "server", nc.ConnectedServerName())
}

func (c *Conn) ended(*nats.Conn) {
	c.up.Store(false)
	c.appends.failAll()
}
