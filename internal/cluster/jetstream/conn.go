package jetstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
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

	created atomic.Int64 // when the stream was made, by the first look at it

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

// transport returns the TLS configuration, which is used if a URL or a file asks for
// it.
func (o *Options) transport() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.TLSCA != "" {
		text, err := os.ReadFile(o.TLSCA)
		if err != nil {
			return nil, fmt.Errorf("%w: certificates: %w", ErrOptions, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%w: %s holds no certificate", ErrOptions, o.TLSCA)
		}
	}
	if o.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("%w: certificate: %w", ErrOptions, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// options returns those of one connection.
func (c *Conn) options(name, credentials string) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name(name), nats.Timeout(dialLimit), nats.FlusherTimeout(c.o.AppendTimeout),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(2),
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.ReconnectBufSize(-1),      // or what was given up is sent later
		nats.IgnoreDiscoveredServers(), // the URLs are the operator's, and so are the names in certificates
		nats.IgnoreAuthErrorAbort(),    // credentials can be renewed
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.o.Log.Debug("NATS complains", "err", err) }),
	}
	if user, err := login(credentials); err != nil {
		return nil, err
	} else if user != nil {
		options = append(options, user)
	}
	secure := c.o.TLSCA != "" || c.o.TLSCert != ""
	for _, one := range c.o.URLs {
		secure = secure || strings.HasPrefix(one, "tls:")
	}
	if secure {
		options = append(options, nats.Secure(c.tls.Clone()))
	}
	return options, nil
}

// connect tries until ctx ends.
func (c *Conn) connect(ctx context.Context, name, credentials string, more ...nats.Option) (*nats.Conn, error) {
	for {
		options, err := c.options(name, credentials)
		if err != nil {
			return nil, err
		}
		nc, err := nats.Connect(strings.Join(c.o.URLs, ","), append(options, more...)...)
		if err == nil {
			return nc, nil
		}
		if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrSecureConnWanted) {
			return nil, fmt.Errorf("connect to NATS: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("connect to NATS: %w", err)
		case <-time.After(reconnectWait):
		}
	}
}

// asking bounds a question: nobody will hear its answer when the connection is lost.
func (c *Conn) asking(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	c.mu.Lock()
	stop := context.AfterFunc(c.link, cancel)
	c.mu.Unlock()
	return ctx, func() { stop(); cancel() }
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
