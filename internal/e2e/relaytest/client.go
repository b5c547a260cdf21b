package relaytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"
)

// Patience is how long a client waits for an answer unless told otherwise.
const Patience = time.Minute

// Client is a connection to a relay. One goroutine reads all that comes into a
// mailbox; the methods take frames out of it. Methods may be called by several
// goroutines.
type Client struct {
	URL       string
	Challenge string // of the AUTH frame that the relay sent on opening
	Patience  time.Duration

	conn  *websocket.Conn
	write sync.Mutex

	mu      sync.Mutex
	mail    []Frame
	err     error         // why reading ended
	changed chan struct{} // closed and renewed at every change
	subs    int
}

// Dial connects and takes the challenge that the relay sends on opening.
func Dial(url string) (*Client, error) { return DialFrom(url, nil) }

// DialFrom is Dial from one of this machine's addresses: loopback has all of
// 127.0.0.0/8. nil lets the system choose.
func DialFrom(url string, local net.IP) (*Client, error) {
	c, err := connect(url, nil, local)
	if err != nil {
		return nil, err
	}
	f, err := c.Wait(Labelled("AUTH"))
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("no challenge on opening: %w", err)
	}
	c.Challenge = f.Text(0)
	return c, nil
}

// Connect opens a websocket and waits for nothing.
func Connect(url string, header http.Header) (*Client, error) { return connect(url, header, nil) }

func connect(url string, header http.Header, local net.IP) (*Client, error) {
	dialer := websocket.Dialer{HandshakeTimeout: Patience}
	if local != nil {
		dialer.NetDialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: local}}).DialContext
	}
	conn, resp, err := dialer.Dial(url, header)
	if err != nil {
		if resp != nil {
			return nil, fmt.Errorf("dial: %w (HTTP %d)", err, resp.StatusCode)
		}
		return nil, fmt.Errorf("dial: %w", err)
	}
	c := &Client{URL: url, Patience: Patience, conn: conn, changed: make(chan struct{})}
	go c.read()
	return c, nil
}

func (c *Client) read() {
	for {
		_, raw, err := c.conn.ReadMessage()
		at := time.Now()
		var f Frame
		if err == nil {
			f, err = ParseFrame(raw, at)
		}
		c.mu.Lock()
		if err != nil {
			c.err = err
		} else {
			c.mail = append(c.mail, f)
		}
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Close drops the connection without a closing handshake.
func (c *Client) Close() {
	// The peer may be gone already; there is nothing to do about it.
	_ = c.conn.Close()
}

// SendRaw writes one text message.
func (c *Client) SendRaw(text []byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.Patience)); err != nil {
		return err
	}
	return c.conn.WriteMessage(websocket.TextMessage, text)
}

// Send writes ["label", args…].
func (c *Client) Send(label string, args ...any) error {
	text, err := json.Marshal(append([]any{label}, args...))
	if err != nil {
		return fmt.Errorf("encode %s: %w", label, err)
	}
	return c.SendRaw(text)
}

// Wait takes the first frame that match accepts out of the mailbox, waiting for
// it no longer than the client's patience. Other frames stay.
func (c *Client) Wait(match Match) (Frame, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.Patience)
	defer cancel()
	return c.WaitContext(ctx, match)
}

// WaitContext is Wait with a deadline of the caller's.
func (c *Client) WaitContext(ctx context.Context, match Match) (Frame, error) {
	next := 0
	for {
		c.mu.Lock()
		if next > len(c.mail) {
			next = 0 // another goroutine took frames out
		}
		for ; next < len(c.mail); next++ {
			if match(c.mail[next]) {
				f := c.mail[next]
				if next == 0 {
					c.mail = c.mail[1:]
				} else {
					c.mail = append(c.mail[:next:next], c.mail[next+1:]...)
				}
				c.mu.Unlock()
				return f, nil
			}
		}
		err, changed := c.err, c.changed
		c.mu.Unlock()
		if err != nil {
			return Frame{}, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Frame{}, fmt.Errorf("no answer: %w", ctx.Err())
		}
	}
}

// Next takes the oldest frame of any kind.
func (c *Client) Next() (Frame, error) {
	return c.Wait(func(Frame) bool { return true })
}

// Waiting returns what lies in the mailbox now, without taking it.
func (c *Client) Waiting() []Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Frame(nil), c.mail...)
}

// CloseCode waits for the end of the connection and returns the code of the
// relay's closing frame; 1006 when it sent none.
func (c *Client) CloseCode() (int, error) {
	deadline := time.After(c.Patience)
	for {
		c.mu.Lock()
		err, changed := c.err, c.changed
		c.mu.Unlock()
		if err != nil {
			var closed *websocket.CloseError
			if errors.As(err, &closed) {
				return closed.Code, nil
			}
			return websocket.CloseAbnormalClosure, nil
		}
		select {
		case <-changed:
		case <-deadline:
			return 0, fmt.Errorf("the relay keeps the connection open")
		}
	}
}

// Auth proves k with the challenge of the opening.
func (c *Client) Auth(k Key) error {
	ok, err := c.AuthWith(AuthEvent(k, c.URL, c.Challenge, time.Now().Unix()))
	if err != nil {
		return err
	}
	if !ok.True {
		return fmt.Errorf("AUTH refused: %s", ok.Message)
	}
	return nil
}

// AuthWith sends an AUTH event and returns the relay's answer to it.
func (c *Client) AuthWith(ev *nostr.Event) (OK, error) {
	if err := c.Send("AUTH", ev); err != nil {
		return OK{}, err
	}
	f, err := c.Wait(OKFor(ev.ID))
	return f.OK(), err
}

// Publish sends an event and returns the relay's answer to it.
func (c *Client) Publish(ev *nostr.Event) (OK, error) {
	if err := c.Send("EVENT", ev); err != nil {
		return OK{}, err
	}
	f, err := c.Wait(OKFor(ev.ID))
	return f.OK(), err
}

// NextSub returns a subscription id that this connection has not used.
func (c *Client) NextSub() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subs++
	return fmt.Sprintf("s%d", c.subs)
}
