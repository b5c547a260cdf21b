package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// Relays that only the agent's list names are its public ones, and were not
// chosen by who asks now. They are asked because memory may lie there, and told
// as little as possible: kinds and authors, which are no secret, but neither
// owner nor address, and no AUTH unless they demand it.

// askListed is askRelay for such a relay. The answers are matched against the
// filter here. It gets a few seconds: a public relay must not hold up every
// command.
func (c *Client) askListed(ctx context.Context, t Target, filter nostr.Filter, col *Collector, start time.Time) Answer {
	ctx, cancel := context.WithTimeout(ctx, max(listedPatience, c.o.Grace))
	defer cancel()
	wide := nostr.Filter{Kinds: filter.Kinds, Authors: filter.Authors, Since: filter.Since, Until: filter.Until, LimitZero: filter.LimitZero}
	p, err := c.pages(ctx, t, wide, col, nil)
	if errors.Is(err, ErrAuth) {
		// It wants to know who asks, and so is asked for what this one may read.
		wide.Tags = ownersOnly(filter.Tags)
		p, err = c.pages(ctx, t, wide, col, (*Conn).Show)
	}
	p.Events = slices.DeleteFunc(p.Events, func(ev *nostr.Event) bool { return !filter.Matches(ev) })
	return p.Answer(t, err, start)
}

// ownersOnly returns the p tags of a filter: with them a reader asks for its
// own.
func ownersOnly(tags nostr.TagMap) nostr.TagMap {
	if p := tags["p"]; len(p) > 0 {
		return nostr.TagMap{"p": p}
	}
	return nil
}

// discreetly asks a relay as what it is: one that only the agent's list names
// is told as little as by askListed. What ask takes is matched against the
// filter here; it may be asked twice.
func (p *Peer) discreetly(f nostr.Filter, take func(*nostr.Event) error, ask func(q nostr.Filter, take func(*nostr.Event) error, prepare func(*Conn) error) error) error {
	if !p.t.Listed {
		return ask(f, take, func(*Conn) error { return nil })
	}
	wide := nostr.Filter{IDs: f.IDs, Kinds: f.Kinds, Authors: f.Authors, Since: f.Since, Until: f.Until, LimitZero: f.LimitZero}
	matching := func(ev *nostr.Event) error {
		if !f.Matches(ev) {
			return nil
		}
		return take(ev)
	}
	if !p.shows() {
		err := ask(wide, matching, func(*Conn) error { return nil })
		if !errors.Is(err, ErrAuth) {
			return err
		}
		p.mu.Lock()
		p.shown = true
		p.mu.Unlock()
	}
	wide.Tags = ownersOnly(f.Tags)
	return ask(wide, matching, (*Conn).Show)
}

// shows reports whether the relay has wanted to know who asks.
func (p *Peer) shows() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown
}
