package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// ErrLost means that the connection ended. It is wrapped with the reason.
var ErrLost = errors.New("the connection ended")

// Conn is one websocket to one relay. Its reader goroutine takes frames off the
// socket and hands each to whoever waits for it; it never looks into events.
// Whoever asks writes, one at a time.
type Conn struct {
	url   string
	ws    *websocket.Conn
	id    Identity
	clock func() time.Time
	trace func(sent bool, frame []byte)
	log   *slog.Logger

	writing chan struct{} // holds one token: who takes it may write
	done    chan struct{} // closed when the connection has ended
	pongs   chan struct{} // holds one that came: see ping

	waiting waiting

	mu   sync.Mutex
	err  error // why it ended; set before done is closed
	auth auth
}

// dial connects. ctx bounds the handshake only.
func dial(ctx context.Context, t Target, id Identity, o Options) (*Conn, error) {
	way := o.dialingTo(t)
	dialer := websocket.Dialer{Proxy: way.proxy} // no compression: what is read stays bounded
	// A handshake heeds the context's deadline, and not that it is cancelled.
	stop := func() bool { return true }
	dialer.NetDialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := way.dial(ctx, network, address)
		if err == nil {
			stop = context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
		}
		return nc, err
	}
	ws, resp, err := dialer.DialContext(ctx, t.URL, nil)
	if !stop() && err == nil {
		ws.Close()
		err = ctx.Err()
	}
	if err != nil {
		return nil, dialError(ctx, resp, err)
	}
	c := &Conn{url: t.URL, ws: ws, id: id, clock: o.Clock, trace: o.tracer(t.URL), log: o.Log.With("relay", t.URL),
		writing: make(chan struct{}, 1), done: make(chan struct{}), pongs: make(chan struct{}, 1),
		waiting: waiting{questions: map[string]*Question{}, oks: map[string]*acknowledgement{}, lastUsed: time.Now()}}
	c.auth.settled = make(chan struct{})
	c.auth.shy = t.Listed
	ws.SetReadLimit(o.Limits.FrameBytes)
	ws.SetPongHandler(func(string) error {
		select {
		case c.pongs <- struct{}{}:
		default:
		}
		return nil
	})
	c.log.Debug("connected")
	go c.read()
	return c, nil
}

// dialError makes an error for people of a failed handshake. A redirect is one:
// a signature made for one relay is not to be shown to another.
func dialError(ctx context.Context, resp *http.Response, err error) error {
	var late net.Error
	switch {
	case ctx.Err() != nil, errors.As(err, &late) && late.Timeout():
		// The connection's own deadline can be a moment ahead of the context's.
		return fmt.Errorf("%w: it did not accept the connection", ErrTimeout)
	case resp != nil:
		return fmt.Errorf("%w: HTTP status %d instead of a websocket", ErrUnconnected, resp.StatusCode)
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("%w: %w", ErrUnconnected, failed)
	}
	return fmt.Errorf("%w: %s", ErrUnconnected, Printable(err.Error()))
}

// read is the reader goroutine.
func (c *Conn) read() {
	for {
		kind, frame, err := c.ws.ReadMessage()
		if err == nil && kind != websocket.TextMessage {
			err = fmt.Errorf("%w: it sent a binary message", ErrMisbehaved)
		}
		if err == nil {
			c.trace(false, frame)
			err = c.dispatch(frame)
		}
		if err != nil {
			c.end(readError(err))
			return
		}
	}
}

func readError(err error) error {
	var closed *websocket.CloseError
	switch {
	case errors.Is(err, ErrMisbehaved):
		return err
	case errors.Is(err, websocket.ErrReadLimit):
		return fmt.Errorf("%w: it sent a message that is too large", ErrMisbehaved)
	case errors.As(err, &closed):
		return fmt.Errorf("%w: closed by the relay (%d %s)", ErrLost, closed.Code, Printable(closed.Text))
	}
	return fmt.Errorf("%w: %s", ErrLost, Printable(err.Error()))
}

// dispatch hands a frame to whoever waits for it. It blocks while the taker is
// busy, which holds up this relay and nobody else.
func (c *Conn) dispatch(frame []byte) error {
	m, err := parseMessage(frame)
	if err != nil {
		return err
	}
	q, ack, tooLoud := c.waiting.find(m)
	if tooLoud {
		return fmt.Errorf("%w: it talks without being asked", ErrMisbehaved)
	}
	switch m.Label {
	case "AUTH":
		return c.challenged(m.Text)
	case "EVENT", "EOSE", "CLOSED", "COUNT", "NEG-MSG", "NEG-ERR":
		if q == nil {
			return nil // an old question's
		}
		select {
		case q.answers <- m:
		case <-q.gone:
		case <-c.done:
		}
	case "OK":
		if ack != nil {
			select {
			case ack.answer <- m:
			default: // words that nobody asked for
			}
		}
	}
	return nil
}

// send writes one frame, within ctx.
func (c *Conn) send(ctx context.Context, frame []byte) error {
	select {
	case c.writing <- struct{}{}:
	case <-c.done:
		return c.ended()
	case <-ctx.Done():
		return fmt.Errorf("%w: it does not read", ErrTimeout)
	}
	defer func() { <-c.writing }()
	deadline, _ := ctx.Deadline() // zero: none
	if err := c.ws.SetWriteDeadline(deadline); err != nil {
		c.end(readError(err))
		return c.ended()
	}
	// A cancelled context must not leave a write behind that holds the token.
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		c.ws.NetConn().SetWriteDeadline(time.Unix(1, 0))
	})
	defer func() {
		if !stop() {
			<-interrupted // it must not hit the next write
		}
	}()
	if err := c.ws.WriteMessage(websocket.TextMessage, frame); err != nil {
		c.end(readError(err))
		if ctx.Err() != nil {
			return fmt.Errorf("%w: it does not read", ErrTimeout)
		}
		return c.ended()
	}
	c.trace(true, frame)
	return nil
}

// end ends the connection with its reason; the first one counts.
func (c *Conn) end(reason error) {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = reason
		close(c.done)
	}
	c.mu.Unlock()
	if first {
		c.log.Debug("connection ended", "reason", reason)
		c.ws.Close()
	}
}

// ended returns why the connection has ended; nil while it has not.
func (c *Conn) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Ping ends a connection that gives no sign of life from one tick to the next.
func (c *Conn) Ping(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for asked := false; ; asked = true {
		select {
		case <-tick.C:
		case <-c.done:
			return
		case <-ctx.Done():
			return
		}
		select {
		case <-c.pongs:
		default:
			if asked {
				c.end(fmt.Errorf("%w: no sign of life", ErrLost))
				return
			}
		}
		_ = c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(every)) // a dead connection ends at the next tick
	}
}
