package client

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"engramd/nips/nipae"
)

// Client asks relays in the name of one identity. Methods may be called from
// several goroutines. Connections are kept between operations; Close ends them.
type Client struct {
	id    Identity
	token *bearer // nil: who asks is id
	o     Options
	http  *http.Client

	mu      sync.Mutex
	targets []target             // asked: the configured relays, and those of the agent's list
	leftOut []string             // configured, and not on the agent's list
	unsure  []RelayStatus        // why the list of relays may not be the agent's
	slots   map[string]*slot     // by canonical URL
	silent  map[string]time.Time // by canonical URL: when it let a question time out (hurry.go)
	closed  bool
	// lastForeign is when something was last written behind a head of another
	// clock.
	lastForeign time.Time

	tracing sync.Mutex
}

// target is one relay to ask.
type target struct {
	url       string // as written: what we connect to and what AUTH names
	canonical string
	listed    bool  // only the agent's own list names it (NIP-65): see listed.go
	err       error // it cannot be asked
}

// New makes a client. It connects when something is asked.
func New(id Identity, o Options) *Client {
	c := &Client{id: id, o: o.withDefaults(), slots: map[string]*slot{}, silent: map[string]time.Time{}}
	c.targets = targetsOf(c.o.Relays)
	c.http = newHTTPClient()
	return c
}

// Close ends all connections. Operations that are under way fail.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	slots := c.slots
	c.slots = map[string]*slot{}
	c.mu.Unlock()
	for _, s := range slots {
		s.shut()
	}
	c.http.CloseIdleConnections()
}

// Identity is who asks.
func (c *Client) Identity() Identity { return c.id }

// Relays returns the URLs that are asked now: the configured ones, and behind
// them those that Discover found.
func (c *Client) Relays() []string { return urlsOf(c.relays()) }

// Writers returns the URLs that are written to: the configured ones, and those
// that Discover found if Options.WriteListed says so.
func (c *Client) Writers() []string { return urlsOf(c.writers()) }

func urlsOf(targets []target) []string {
	var urls []string
	for _, t := range targets {
		urls = append(urls, t.url)
	}
	return urls
}

func (c *Client) relays() []target {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.targets)
}

// writers returns the relays that are written to, and whose history is asked
// for.
func (c *Client) writers() []target {
	return slices.DeleteFunc(c.relays(), func(t target) bool { return t.listed && !c.o.WriteListed })
}

// targetsOf drops repeats, compared canonically, and keeps what is no URL as a
// relay that fails.
func targetsOf(urls []string) []target {
	var out []target
	seen := map[string]bool{}
	for _, url := range urls {
		t := target{url: url}
		t.canonical, t.err = nipae.CanonicalRelayURL(url)
		if t.err != nil {
			t.canonical = url
		}
		if !seen[t.canonical] {
			seen[t.canonical] = true
			out = append(out, t)
		}
	}
	return out
}

// operation bounds a whole operation.
func (c *Client) operation(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.o.Timeout)
}

// part gives a phase of an operation a share of the time that is left, so
// that a relay that uses all of its time leaves some to the phases that follow.
func part(ctx context.Context, share float64) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Duration(float64(left(ctx))*share))
}

// left returns the time until the deadline of an operation.
func left(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return defaultTimeout
	}
	return time.Until(deadline)
}

// now returns the clock in Unix seconds.
func (c *Client) now() int64 { return c.o.Clock().Unix() }

// tracer returns what a connection reports its frames to.
func (c *Client) tracer(url string) func(sent bool, frame []byte) {
	return func(sent bool, frame []byte) {
		if c.o.Trace == nil {
			return
		}
		c.tracing.Lock()
		defer c.tracing.Unlock()
		c.o.Trace(url, sent, frame)
	}
}

// each calls do for every relay in parallel and returns what they gave, in the
// order of the relays. It returns by the deadline of ctx also if some do not:
// they get a little less time than that to come back by themselves with what
// they have, and for those that do not, late makes the result.
func each[T any](ctx context.Context, targets []target, do func(context.Context, target) T, late func(target, error) T) []T {
	type result struct {
		i int
		v T
	}
	inner, cancel := part(ctx, 0.95)
	results := make(chan result, len(targets))
	out := make([]T, len(targets))
	var running sync.WaitGroup
	for i, t := range targets {
		running.Add(1)
		go func() {
			defer running.Done()
			results <- result{i, do(inner, t)}
		}()
	}
	go func() {
		running.Wait()
		cancel()
	}()
	came := make([]bool, len(targets))
	for range targets {
		select {
		case r := <-results:
			out[r.i], came[r.i] = r.v, true
			continue
		case <-ctx.Done():
		}
		for len(results) > 0 {
			r := <-results
			out[r.i], came[r.i] = r.v, true
		}
		break
	}
	for i, t := range targets {
		if !came[i] {
			out[i] = late(t, fmt.Errorf("%w: %w", ErrTimeout, context.Cause(ctx)))
		}
	}
	return out
}
