package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// bearer is a token with which an agent acts whose key a relay keeps. It is
// sent to that relay alone, and shown to nobody: it lies in a closure, as
// secret keys do.
type bearer struct {
	relay  target
	reveal func() string

	mu    sync.Mutex
	agent AgentIdentity // who it stands for; known from the first answer on
}

// ErrNoKey means that something needs the secret key itself, and there is a
// token.
var ErrNoKey = errors.New("this needs the agent's key, and there is a bearer token only")

// NewBearer makes a client that acts by a bearer token: on contracts, by the
// API of the one relay that has made the token. Everybody else's word is read
// as nobody. The errors are ErrInvalid and ErrCleartext; none repeats the
// token.
func NewBearer(token, relay string, o Options) (*Client, error) {
	o.Relays, o.WriteListed = []string{relay}, false
	c := New(Identity{}, o)
	t := c.targets[0]
	switch {
	case t.err != nil:
		return nil, fmt.Errorf("%w: the relay of the token: %w", ErrInvalid, t.err)
	case !goodToken(token):
		return nil, fmt.Errorf("%w: this is no bearer token", ErrInvalid)
	case !private(t.url):
		return nil, fmt.Errorf("%s: %w", printable(t.url), ErrCleartext)
	}
	c.token = &bearer{relay: t, reveal: func() string { return token }}
	return c, nil
}

// known finds out who a token stands for, once; with a key there is nothing to
// find.
func (c *Client) known(ctx context.Context) (Status, error) {
	b := c.token
	if b == nil {
		return Status{}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.agent.PubKey != "" {
		return Status{}, nil
	}
	var w wireIdentity
	err := c.api(ctx, b.relay, http.MethodGet, "/api/identity", nil, nil, &w)
	switch {
	case err == nil:
		b.agent, err = w.identity(w.AgentID)
	case errors.Is(err, ErrNotFound): // whoever has a token has an identity
		err = ErrNoAPI
	}
	if err != nil {
		s := Status{Relays: []RelayStatus{{URL: b.relay.url, Err: err}}}
		s.Partial = partial(s.Relays)
		return s, fmt.Errorf("%s: %w", printable(b.relay.url), err)
	}
	return Status{}, nil
}

// me returns the key that acts, in hex; "" for nobody, and while it is not
// known who a token stands for.
func (c *Client) me() string {
	if c.token == nil {
		return c.id.PubKey()
	}
	c.token.mu.Lock()
	defer c.token.mu.Unlock()
	return c.token.agent.PubKey
}

// bearerFor returns the token for a relay: "" without one. Who has a token has
// nothing else to prove, and asks no other relay over HTTP.
func (c *Client) bearerFor(t target) (string, error) {
	if c.token == nil {
		return "", nil
	}
	if t.canonical != c.token.relay.canonical {
		return "", fmt.Errorf("%w: a token is for the relay that made it", ErrInvalid)
	}
	return c.token.reveal(), nil
}
