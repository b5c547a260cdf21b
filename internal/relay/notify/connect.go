package notify

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	dialLimit  = 5 * time.Second
	flushLimit = 2 * time.Second
	pingEvery  = 20 * time.Second // two without an answer, and the broker is gone
	maxRetry   = 30 * time.Second
)

// connect connects once. The library's own reconnecting is off: it would keep
// what is sent meanwhile in a buffer of its own, and say nothing. gone is
// closed when the connection is.
func (p *Publisher) connect() (nc *nats.Conn, gone <-chan struct{}, err error) {
	closed := make(chan struct{})
	options := []nats.Option{
		nats.Name("engramd"), nats.NoReconnect(), nats.NoEcho(), nats.Timeout(dialLimit),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(2), nats.FlusherTimeout(dialLimit),
		nats.ClosedHandler(func(*nats.Conn) { close(closed) }),
		// Without one, the library prints to stderr.
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { p.o.Log.Debug("broker complains", "err", err) }),
	}
	if p.o.Credentials != "" {
		login, err := p.o.login()
		if err != nil {
			return nil, nil, err
		}
		options = append(options, login)
	}
	nc, err = nats.Connect(p.o.URL, options...)
	if err != nil {
		return nil, nil, fmt.Errorf("connect: %w", err)
	}
	return nc, closed, nil
}

// login returns the option for the credentials file. It is read again for each
// connection, so that it can be renewed.
func (o *Options) login() (nats.Option, error) {
	jwt, err := readable(o.Credentials)
	if err != nil {
		return nil, err
	}
	if jwt {
		return nats.UserCredentials(o.Credentials), nil
	}
	seed, err := nats.NkeyOptionFromSeed(o.Credentials)
	if err != nil {
		return nil, fmt.Errorf("%w: there is neither a JWT nor a user's nkey seed in it", ErrCredentials)
	}
	return seed, nil
}

// trouble counts failures in a row, and says how long to wait and when to log:
// the 1st, 2nd, 4th, 8th, …, so that a broker that is down for days, or that
// takes connections only to end them, does not fill the log.
type trouble struct {
	o     *Options
	count int
	pause time.Duration
	since time.Time // of the connection that there is; zero without one
}

// happened notes a failure to connect, or the end of a connection.
func (t *trouble) happened(err error) (pause time.Duration) {
	if !t.since.IsZero() && t.o.Clock().Sub(t.since) >= maxRetry {
		t.count = 0 // it lasted: this is a new row
	}
	t.since = time.Time{}
	t.count++
	t.o.Observe.BrokerFailed()
	if t.count == 1 {
		t.pause = t.o.Retry
	} else {
		t.pause = min(2*t.pause, maxRetry)
	}
	if t.loud() {
		t.o.Log.Warn("no connection to the events broker; events wait or are dropped, all else goes on", "err", err, "failures", t.count)
	}
	return t.pause
}

// connected notes a connection.
func (t *trouble) connected() {
	t.since = t.o.Clock()
	if t.loud() {
		t.o.Log.Info("connected to the events broker", "failures_before", t.count)
	}
}

func (t *trouble) loud() bool { return t.count&(t.count-1) == 0 }
