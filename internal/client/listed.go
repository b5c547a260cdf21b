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
func askListed(ctx context.Context, c *Client, t Target, filter nostr.Filter, col *Collector, start time.Time) Answer {
	ctx, cancel := context.WithTimeout(ctx, max(listedPatience, c.o.Grace))
	defer cancel()
	wide := nostr.Filter{Kinds: filter.Kinds, Authors: filter.Authors, Since: filter.Since, Until: filter.Until, LimitZero: filter.LimitZero}
	p, err := pages(ctx, c, t, wide, col, nil)
	if errors.Is(err, ErrAuth) {
		// It wants to know who asks, and so is asked for what this one may read.
		wide.Tags = OwnersOnly(filter.Tags)
		p, err = pages(ctx, c, t, wide, col, (*Conn).Show)
	}
	p.Events = slices.DeleteFunc(p.Events, func(ev *nostr.Event) bool { return !filter.Matches(ev) })
	return p.Answer(t, err, start)
}

// OwnersOnly returns the p tags of a filter: with them a reader asks for its
// own.
func OwnersOnly(tags nostr.TagMap) nostr.TagMap {
	if p := tags["p"]; len(p) > 0 {
		return nostr.TagMap{"p": p}
	}
	return nil
}
