package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"engramd/nips/nipae"
)

// Client asks relays in the name of one identity. Methods may be called from
// several goroutines. Connections are kept between operations; Close ends them.
type Client struct {
	id     Identity
	o      Options
	http   *HTTP
	pool   pool
	silent silences

	mu      sync.Mutex
	targets []Target      // asked: the configured relays, and those of the agent's list
	leftOut []string      // configured, and not on the agent's list
	unsure  []RelayStatus // why the list of relays may not be the agent's
	// lastForeign is when something was last written behind a head of another
	// clock.
	lastForeign time.Time
}

// Target is one relay to ask.
type Target struct {
	URL       string // as written: what we connect to and what AUTH names
	Canonical string
	Listed    bool  // only the agent's own list names it (NIP-65): see listed.go
	Err       error // it cannot be asked
}

// New makes a client. It connects when something is asked.
func New(id Identity, o Options) *Client {
	o = o.withDefaults()
	return &Client{id: id, o: o, http: &HTTP{id: id, o: o, client: newHTTPClient(o.dialingTo(Target{}))}, pool: pool{id: id, o: o, slots: map[string]*slot{}},
		targets: TargetsOf(o.Relays), silent: silences{at: map[string]time.Time{}}}
}

// Close ends all connections. Operations that are under way fail.
func (c *Client) Close() {
	c.pool.close()
	c.http.client.CloseIdleConnections()
}

// Identity is who asks.
func (c *Client) Identity() Identity { return c.id }

// Options returns the options of the client, with defaults for what was zero.
func (c *Client) Options() Options { return c.o }

// HTTP returns the HTTP side of the client.
func (c *Client) HTTP() *HTTP { return c.http }

// Relays returns the URLs that are asked now: the configured ones, and behind
// them those that Discover found.
func (c *Client) Relays() []string {
	var urls []string
	for _, t := range c.Targets() {
		urls = append(urls, t.URL)
	}
	return urls
}

// Targets returns the relays that are asked.
func (c *Client) Targets() []Target {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.targets)
}

// WriteTargets returns the relays that are written to, and whose history is asked
// for.
func (c *Client) WriteTargets() []Target {
	return slices.DeleteFunc(c.Targets(), func(t Target) bool { return t.Listed && !c.o.WriteListed })
}

// TargetsOf drops repeats, compared canonically, and keeps what is no URL as a
// relay that fails.
func TargetsOf(urls []string) []Target {
	var out []Target
	seen := map[string]bool{}
	for _, url := range urls {
		t := Target{URL: url}
		t.Canonical, t.Err = nipae.CanonicalRelayURL(url)
		if t.Err != nil {
			t.Canonical = url
		}
		if !seen[t.Canonical] {
			seen[t.Canonical] = true
			out = append(out, t)
		}
	}
	return out
}

// Operation bounds a whole operation.
func (c *Client) Operation(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.o.Timeout)
}

// Part gives a phase of an operation a share of the time that is left, so
// that a relay that uses all of its time leaves some to the phases that follow.
func Part(ctx context.Context, share float64) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, Left(ctx, share))
}

// Left returns a share of the time that is left.
func Left(ctx context.Context, share float64) time.Duration {
	return time.Duration(float64(left(ctx)) * share)
}

// left returns the time until the deadline of an operation.
func left(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return defaultTimeout
	}
	return time.Until(deadline)
}

// Now returns the clock in Unix seconds.
func (c *Client) Now() int64 { return c.o.now() }

// After returns when a version is dated that is newer than one of that time (0:
// there is none), in Unix seconds. The error is a *PoisonedError.
func (c *Client) After(last int64) (int64, error) {
	at, err := nipae.NextCreatedAt(c.Now(), last)
	if err != nil {
		return 0, &PoisonedError{Head: last}
	}
	return at, nil
}

// Each calls do for every relay in parallel and returns what they gave, in the
// order of the relays. It returns by the deadline of ctx also if some do not:
// they get a little less time than that to come back by themselves with what
// they have, and for those that do not, late makes the result.
func Each[T any](ctx context.Context, targets []Target, do func(context.Context, Target) T, late func(Target, error) T) []T {
	type result struct {
		i int
		v T
	}
	inner, cancel := Part(ctx, 0.95)
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
