package client

import (
	"context"
	"engramd/internal/protocol/wire"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// authPatience bounds the answer to a challenge that comes when nobody waits.
const authPatience = 10 * time.Second

// maxChallenge is the length in bytes of the longest challenge that is signed.
const maxChallenge = 1024

// auth is what a connection knows about NIP-42. conn.mu guards it.
type auth struct {
	challenge string
	answered  int // challenges answered so far
	accepted  int // of those the relay said OK true to
	pending   bool
	shy       bool          // challenges are answered only once show is called
	held      string        // a challenge that came before
	err       error         // of the last one
	settled   chan struct{} // closed when the last one is settled, or the first
}

// challenged answers a challenge, once. It is called by the reader.
func (c *Conn) challenged(challenge string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &c.auth
	if challenge == a.challenge || c.id.PubKey() == "" {
		return nil // relays repeat it before they refuse
	}
	if a.shy {
		a.held = challenge[:min(len(challenge), maxChallenge+1)]
		return nil
	}
	if a.answered++; a.answered > maxAuths {
		return fmt.Errorf("%w: it sends one AUTH challenge after the other", ErrMisbehaved)
	}
	if len(challenge) > maxChallenge {
		return fmt.Errorf("%w: its AUTH challenge is too long", ErrMisbehaved)
	}
	if a.challenge != "" && !a.pending {
		a.settled = make(chan struct{})
	}
	a.challenge, a.pending = challenge, true
	go c.authenticate(challenge)
	return nil
}

// Show has challenges answered from now on, the one that came already too.
func (c *Conn) Show() error {
	c.mu.Lock()
	held := c.auth.held
	c.auth.shy, c.auth.held = false, ""
	c.mu.Unlock()
	if held == "" {
		return nil
	}
	return c.challenged(held)
}

// authenticate signs a challenge, sends it and waits for the relay's word.
func (c *Conn) authenticate(challenge string) {
	ctx, cancel := context.WithTimeout(context.Background(), authPatience)
	defer cancel()
	ev := &nostr.Event{Kind: nostr.KindClientAuthentication, CreatedAt: nostr.Timestamp(c.clock().Unix()),
		Tags: nostr.Tags{{"relay", c.url}, {"challenge", challenge}}}
	err := c.id.Sign(ev)
	if err == nil {
		_, err = c.deliver(ctx, "AUTH", ev)
	}
	if refusal, ok := errors.AsType[*RefusalError](err); ok {
		// Whatever its prefix, this refusal is about who we are.
		err = fmt.Errorf("%w: AUTH: %s", ErrAuth, refusal.Error())
	}
	c.log.Debug("answered the challenge", "error", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &c.auth
	if err == nil {
		a.accepted++
	}
	if challenge != a.challenge {
		return // a newer one is under way
	}
	a.err, a.pending = err, false
	close(a.settled)
}

// deliver sends an event in a frame of that label, waits for its OK, and returns
// the text of an OK true. A refusal is a *RefusalError.
func (c *Conn) deliver(ctx context.Context, label string, ev *nostr.Event) (string, error) {
	ack := c.waiting.expectOK(ev.ID)
	defer c.waiting.forget(ev.ID)
	if err := c.send(ctx, append(wire.AppendEvent(fmt.Appendf(nil, `[%q,`, label), ev), ']')); err != nil {
		return "", err
	}
	select {
	case m := <-ack.answer:
		if !m.ok {
			return "", m.Refusal()
		}
		return Printable(m.Text), nil
	case <-c.done:
		return "", c.ended()
	case <-ctx.Done():
		return "", fmt.Errorf("%w: no OK to the event", ErrTimeout)
	}
}

// authNow returns what is known at this moment.
func (c *Conn) authNow() auth {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.auth
}

// authSettled waits until the relay's challenge is answered and judged, or, if
// it has sent none yet, until it sends one and that is judged. It returns how
// many have been accepted.
func (c *Conn) authSettled(ctx context.Context) (accepted int, err error) {
	if c.id.PubKey() == "" {
		return 0, fmt.Errorf("%w: there is no key to answer with", ErrAuth)
	}
	for {
		a := c.authNow()
		if a.challenge != "" && !a.pending {
			return a.accepted, a.err
		}
		select {
		case <-a.settled:
		case <-c.done:
			return 0, c.ended()
		case <-ctx.Done():
			if a.challenge == "" {
				return 0, fmt.Errorf("%w: it wants an AUTH and sends no challenge", ErrAuth)
			}
			return 0, fmt.Errorf("%w: no answer to AUTH", ErrTimeout)
		}
	}
}

// newHTTPClient makes a client that follows no redirect: a signature is for one
// URL, and one relay must not pass us on to another.
func newHTTPClient(way dialing) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext, transport.Proxy = way.dial, way.proxy
	transport.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// httpURL returns the URL of an endpoint of a relay: its own with http for ws,
// the path added to its path, and the query.
func httpURL(relay, path string, query url.Values) (string, error) {
	u, err := url.Parse(relay)
	if err != nil {
		return "", fmt.Errorf("relay URL does not parse")
	}
	u.Scheme = "http" + strings.TrimPrefix(strings.ToLower(u.Scheme), "ws")
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/")+path, ""
	u.RawQuery = query.Encode()
	return u.String(), nil
}
