package client

import (
	"context"
	"fmt"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// ErrNoneConfigured means that there is no relay to ask.
var ErrNoneConfigured = fmt.Errorf("%w: none is configured", ErrNoRelay)

// Ask asks every relay in parallel, pages each with until down to its end, and
// unites what they say; a limit in the filter bounds what is asked for and
// returned. Every event is verified and fits the filter. What failed where is
// in Answers.Relays.
//
// The error is ErrNoRelay when no relay answered (ErrAuth as well if each of
// them refused us); the Answers say why, and hold what came before.
func (c *Client) Ask(ctx context.Context, filter nostr.Filter) (Answers, error) {
	ctx, cancel := c.Operation(ctx)
	defer cancel()
	return c.AskThose(ctx, c.Targets(), filter)
}

// AskSoon is Ask where the answer may be partial: a relay that lets the others
// wait is given up, unless the client is patient.
func (c *Client) AskSoon(ctx context.Context, filter nostr.Filter) (Answers, error) {
	ctx, cancel := c.Operation(ctx)
	defer cancel()
	return c.AskThoseSoon(ctx, c.Targets(), filter)
}

// AskThose is Ask of those relays, within an operation. One that is not to be asked any more is a
// target with an error.
func (c *Client) AskThose(ctx context.Context, targets []Target, filter nostr.Filter) (Answers, error) {
	all := askEach(ctx, c, targets, filter)
	a := Unite(all, filter.Limit)
	if a.AllFailed() {
		return a, NoRelay(a.Relays)
	}
	return a, nil
}

// Asking is a way to ask relays: AskThose or AskThoseSoon.
type Asking func(ctx context.Context, targets []Target, filter nostr.Filter) (Answers, error)

// AskThoseSoon is AskThose where the answer may be partial: a relay that the others
// wait for is given up (hurry.go).
func (c *Client) AskThoseSoon(ctx context.Context, targets []Target, filter nostr.Filter) (Answers, error) {
	a := Unite(c.AskEachSoon(ctx, targets, filter), filter.Limit)
	if a.AllFailed() {
		return a, NoRelay(a.Relays)
	}
	return a, nil
}

// AskEachSoon is AskThoseSoon with the answers apart.
func (c *Client) AskEachSoon(ctx context.Context, targets []Target, filter nostr.Filter) []Answer {
	if c.o.Patient {
		return askEach(ctx, c, targets, filter)
	}
	col := NewCollector()
	start := time.Now()
	ask := Hurry(ctx, c, targets,
		func(ctx context.Context, t Target) Answer { return AskRelay(ctx, c, t, filter, col, start) },
		func(r *Answer) *error { return &r.Status.Err })
	return Each(ctx, targets, ask, LateAnswer(start))
}

// LateAnswer is that of a relay which did not even come back by itself.
func LateAnswer(start time.Time) func(Target, error) Answer {
	return func(t Target, err error) Answer {
		return Answer{Status: RelayStatus{URL: t.URL, Err: err, Took: time.Since(start)}}
	}
}

// NoRelay returns the ErrNoRelay for what happened at each relay.
func NoRelay(relays []RelayStatus) error {
	if len(relays) == 0 {
		return ErrNoneConfigured
	}
	return Failures(ErrNoRelay, relays)
}

// Answer is what one relay said.
type Answer struct {
	Status RelayStatus
	Events []*nostr.Event // distinct
}

// askEach asks every relay and keeps the answers apart.
func askEach(ctx context.Context, c *Client, targets []Target, filter nostr.Filter) []Answer {
	col := NewCollector()
	start := time.Now()
	return Each(ctx, targets,
		func(ctx context.Context, t Target) Answer { return AskRelay(ctx, c, t, filter, col, start) },
		LateAnswer(start))
}

// AskRelay asks one relay for page after page.
func AskRelay(ctx context.Context, c *Client, t Target, filter nostr.Filter, col *Collector, start time.Time) Answer {
	if t.Listed {
		return askListed(ctx, c, t, filter, col, start)
	}
	p, err := pages(ctx, c, t, filter, col, nil)
	return p.Answer(t, err, start)
}

// pages asks one relay for page after page. prepare, if there is one, is called
// with each connection that is used.
func pages(ctx context.Context, c *Client, t Target, filter nostr.Filter, col *Collector, prepare func(*Conn) error) (*Pager, error) {
	p := NewPager(col, filter, c.o.Limits)
	p.Began = nostr.Timestamp(c.Now())
	var err error
	for p.More() && err == nil {
		err = c.With(ctx, t, func(conn *Conn) error {
			if prepare != nil {
				if err := prepare(conn); err != nil {
					return err
				}
			}
			return p.Page(ctx, conn)
		})
	}
	return p, err
}

// Unite merges the answers of all relays, newest first, at most limit of them
// if that is not 0.
func Unite(all []Answer, limit int) Answers {
	var a Answers
	seen := map[string]bool{}
	for _, r := range all {
		a.Relays = append(a.Relays, r.Status)
		for _, ev := range r.Events {
			if !seen[ev.ID] {
				seen[ev.ID] = true
				a.Events = append(a.Events, ev)
			}
		}
	}
	NewestFirst(a.Events)
	if limit > 0 && len(a.Events) > limit {
		a.Events = a.Events[:limit]
	}
	return a
}
