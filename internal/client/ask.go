package client

import (
	"context"
	"fmt"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// errNoneConfigured means that there is no relay to ask.
var errNoneConfigured = fmt.Errorf("%w: none is configured", ErrNoRelay)

// Ask asks every relay in parallel, pages each with until down to its end, and
// unites what they say; a limit in the filter bounds what is asked for and
// returned. Every event is verified and fits the filter. What failed where is
// in Answers.Relays.
//
// The error is ErrNoRelay when no relay answered (ErrAuth as well if each of
// them refused us); the Answers say why, and hold what came before.
func (c *Client) Ask(ctx context.Context, filter nostr.Filter) (Answers, error) {
	ctx, cancel := c.operation(ctx)
	defer cancel()
	return c.ask(ctx, filter)
}

// AskSoon is Ask where the answer may be partial: a relay that lets the others
// wait is given up, unless the client is patient.
func (c *Client) AskSoon(ctx context.Context, filter nostr.Filter) (Answers, error) {
	ctx, cancel := c.operation(ctx)
	defer cancel()
	return c.askSoon(ctx, c.relays(), filter)
}

// ask is Ask within an operation.
func (c *Client) ask(ctx context.Context, filter nostr.Filter) (Answers, error) {
	return c.askThose(ctx, c.relays(), filter)
}

// askThose is ask of those relays. One that is not to be asked any more is a
// target with an error.
func (c *Client) askThose(ctx context.Context, targets []target, filter nostr.Filter) (Answers, error) {
	all := c.askEach(ctx, targets, filter)
	a := unite(all, filter.Limit)
	if a.AllFailed() {
		return a, noRelay(a.Relays)
	}
	return a, nil
}

// asking is a way to ask relays: askThose or askSoon.
type asking func(ctx context.Context, targets []target, filter nostr.Filter) (Answers, error)

// askSoon is askThose where the answer may be partial: a relay that the others
// wait for is given up (hurry.go).
func (c *Client) askSoon(ctx context.Context, targets []target, filter nostr.Filter) (Answers, error) {
	a := unite(c.askEachSoon(ctx, targets, filter), filter.Limit)
	if a.AllFailed() {
		return a, noRelay(a.Relays)
	}
	return a, nil
}

// askEachSoon is askSoon with the answers apart.
func (c *Client) askEachSoon(ctx context.Context, targets []target, filter nostr.Filter) []relayAnswer {
	if c.o.Patient {
		return c.askEach(ctx, targets, filter)
	}
	col := newCollector()
	start := time.Now()
	ask := hurry(ctx, c, targets,
		func(ctx context.Context, t target) relayAnswer { return c.askRelay(ctx, t, filter, col, start) },
		func(r *relayAnswer) *error { return &r.status.Err })
	return each(ctx, targets, ask, lateAnswer(start))
}

// lateAnswer is that of a relay which did not even come back by itself.
func lateAnswer(start time.Time) func(target, error) relayAnswer {
	return func(t target, err error) relayAnswer {
		return relayAnswer{status: RelayStatus{URL: t.url, Err: err, Took: time.Since(start)}}
	}
}

// noRelay returns the ErrNoRelay for what happened at each relay.
func noRelay(relays []RelayStatus) error {
	if len(relays) == 0 {
		return errNoneConfigured
	}
	return failures(ErrNoRelay, relays)
}

// relayAnswer is what one relay said.
type relayAnswer struct {
	status RelayStatus
	events []*nostr.Event // distinct
}

// askEach asks every relay and keeps the answers apart.
func (c *Client) askEach(ctx context.Context, targets []target, filter nostr.Filter) []relayAnswer {
	col := newCollector()
	start := time.Now()
	return each(ctx, targets,
		func(ctx context.Context, t target) relayAnswer { return c.askRelay(ctx, t, filter, col, start) },
		lateAnswer(start))
}

// askRelay asks one relay for page after page.
func (c *Client) askRelay(ctx context.Context, t target, filter nostr.Filter, col *collector, start time.Time) relayAnswer {
	if t.listed {
		return c.askListed(ctx, t, filter, col, start)
	}
	p, err := c.pages(ctx, t, filter, col, nil)
	return p.answer(t, err, start)
}

// pages asks one relay for page after page. prepare, if there is one, is called
// with each connection that is used.
func (c *Client) pages(ctx context.Context, t target, filter nostr.Filter, col *collector, prepare func(*conn) error) (*pager, error) {
	p := newPager(col, filter, c.o.Limits)
	p.began = nostr.Timestamp(c.now())
	var err error
	for p.more() && err == nil {
		err = c.with(ctx, t, func(conn *conn) error {
			if prepare != nil {
				if err := prepare(conn); err != nil {
					return err
				}
			}
			return p.page(ctx, conn)
		})
	}
	return p, err
}

// unite merges the answers of all relays, newest first, at most limit of them
// if that is not 0.
func unite(all []relayAnswer, limit int) Answers {
	var a Answers
	seen := map[string]bool{}
	for _, r := range all {
		a.Relays = append(a.Relays, r.status)
		for _, ev := range r.events {
			if !seen[ev.ID] {
				seen[ev.ID] = true
				a.Events = append(a.Events, ev)
			}
		}
	}
	newestFirst(a.Events)
	if limit > 0 && len(a.Events) > limit {
		a.Events = a.Events[:limit]
	}
	return a
}
