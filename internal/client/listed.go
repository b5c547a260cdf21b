package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/writerlog"
)

// Fate is what became of an event that was sent.
type Fate int

// The fates.
const (
	Stored  Fate = iota // a relay said that it has it
	Refused             // every relay that it was sent to said that it does not have it
	Unknown             // a relay did not answer
)

// Links chain what is written for one pair into a writer's log (internal/protocol/writerlog).
type Links interface {
	// Ready is called before a write, while the head is read: numbers whose fate
	// is not known are looked up, a log is begun. What does not succeed in time
	// is for the next write.
	Ready(ctx context.Context)
	// Take calls seal for each of count events, in their order, with a link that
	// lacks T alone, and keeps what it returns. false says
	// that there is no log to be written, and nothing was taken. The error is
	// seal's.
	Take(ctx context.Context, count int, seal func(i int, l writerlog.Link) (Sealed, error)) (bool, error)
	// Sent notes what became of an event, and the URLs of relays that took it.
	Sent(ctx context.Context, ev *nostr.Event, fate Fate, took []string)
}

// Sealed is an event that is to take a number; without one none is taken.
type Sealed struct {
	Event     *nostr.Event
	Tombstone bool
}

// settlePatience bounds noting what became of an event: it is done also where the
// time for the network is over.
const settlePatience = 2 * time.Second

// Settle notes in a log what the relays said to an event.
func Settle(ctx context.Context, links Links, ev *nostr.Event, published []PublishStatus) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settlePatience)
	defer cancel()
	links.Sent(ctx, ev, FateOf(published), TookIt(published))
}

// FateOf says what became of an event by what the relays said that it was sent
// to.
func FateOf(published []PublishStatus) Fate {
	fate := Refused
	for _, s := range published {
		switch {
		case s.Accepted:
			return Stored
		case errors.Is(s.Err, ErrRefused), errors.Is(s.Err, ErrAuth), errors.Is(s.Err, ErrConflict):
		default:
			fate = Unknown
		}
	}
	return fate
}

// TookIt returns the URLs of the relays that took an event.
func TookIt(published []PublishStatus) (took []string) {
	for _, s := range published {
		if s.Accepted {
			took = append(took, s.URL)
		}
	}
	return took
}

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
