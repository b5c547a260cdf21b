package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

// burstPatience is how long a write waits for its turn.
const burstPatience = 30 * time.Second

// beyond returns a context that ends when ctx is cancelled, but not when its
// time is over: the time limit is for the network, and waiting for one's turn
// is not.
func beyond(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})
	return out, func() { stop(); cancel() }
}

// isExchange reports whether an engram is a proposal, or the answer to one:
// that is no memory.
func isExchange(e nipae.Engram) bool { return nipae.IsExchange(e.Slug()) }

// isBookkeeping reports whether an engram is no memory: part of an exchange, or a
// unit of a writer's log.
func isBookkeeping(e nipae.Engram) bool { return isExchange(e) || writerlog.IsUnit(e.Slug()) }

// selectHeads is nipae.SelectHeads for what counts of the pair.
func (r *reader) selectHeads(events []*nostr.Event) nipae.Listing {
	l := nipae.SelectHeads(r.key(), r.agent, r.owner, live(r, events))
	if r.reversed {
		stray := func(e nipae.Engram) bool { return !isExchange(e) }
		l.Core = nil
		l.Memories = slices.DeleteFunc(l.Memories, stray)
		l.Tombstones = slices.DeleteFunc(l.Tombstones, stray)
	}
	return l
}

// counts is ErrReversed for slugs that mean nothing in the pair.
func (p *pair) counts(slug nipae.Slug) error {
	if p.reversed && !nipae.IsExchange(slug) {
		return fmt.Errorf("%s: %w", slug, client.ErrReversed)
	}
	return nil
}

// withoutBookkeeping returns a listing without what is no memory, and whether
// anything is left of it.
func withoutBookkeeping(l nipae.Listing) (nipae.Listing, bool) {
	l.Memories = slices.DeleteFunc(slices.Clone(l.Memories), isBookkeeping)
	l.Tombstones = slices.DeleteFunc(slices.Clone(l.Tombstones), isBookkeeping)
	return l, l.Core != nil || len(l.Memories)+len(l.Tombstones)+len(l.Unreadable) > 0
}

// isOwner reports whether a key is known as the owner of the client's identity.
// What it writes to the identity is a reversed pair, and it is no agent. That the
// identity remembers something for a key is no sign of it: a single engram that
// was written by mistake would hide an agent from its owner.
func isOwner(c *client.Client, key string) bool {
	return isReversed(c.Identity().PubKey(), key, c.Options().Owner)
}

// Publish is Client.Publish of an event that Compose made of the pair. What is in no
// log (Unchained) opens none.
func (m *Memory) Publish(ctx context.Context, ev *nostr.Event) ([]client.PublishStatus, error) {
	ctx, cancel := m.c.Operation(ctx)
	defer cancel()
	published, err := m.c.PublishThose(ctx, m.c.WriteTargets(), ev, nil)
	if len(published) > 0 {
		m.sent(ctx, ev, published)
	}
	return published, err
}

// publishToOthers is publish to the relays that no decision was asked of, with
// what those said that were. Once a relay has decided, or taken it, the event
// is published, whatever the others say.
func publishToOthers(ctx context.Context, c *client.Client, to []client.Target, ev *nostr.Event, slow map[string]bool, d client.Decision) ([]client.PublishStatus, error) {
	others := slices.DeleteFunc(slices.Clone(to), func(t client.Target) bool {
		return slices.ContainsFunc(d.Published, func(s client.PublishStatus) bool { return s.URL == t.URL })
	})
	if len(d.Published) == 0 {
		return c.PublishThose(ctx, to, ev, slow)
	}
	if len(others) == 0 {
		return d.Published, nil
	}
	published, err := c.PublishThose(ctx, others, ev, slow)
	if len(published) == 0 {
		return d.Published, err
	}
	return append(d.Published, published...), nil
}

// withoutSilent are targets of which those that let an event time out are not
// to be asked any more.
func withoutSilent(targets []client.Target, published []client.PublishStatus) []client.Target {
	out := slices.Clone(targets)
	for _, s := range published {
		for i := range out {
			if out[i].URL == s.URL && errors.Is(s.Err, client.ErrTimeout) {
				out[i].Err = s.Err
			}
		}
	}
	return out
}

// Remove writes a tombstone, which is the Entry. The errors are those of Set,
// ErrCore, and ErrNotFound or ErrTombstone, with the one that is there, if
// there is nothing to remove and every relay says so (ErrPartial if some
// failed). With overUnreadable it removes also what cannot be read.
func (m *Memory) Remove(ctx context.Context, slug nipae.Slug, overUnreadable bool) (client.Entry, client.Status, error) {
	return m.remove(ctx, slug, SetOptions{OverUnreadable: overUnreadable})
}

// RemoveVersion is Remove if the text that is there has that Hash; another one
// is a *ConflictError.
func (m *Memory) RemoveVersion(ctx context.Context, slug nipae.Slug, base string) (client.Entry, client.Status, error) {
	return m.remove(ctx, slug, SetOptions{Base: base})
}

func (m *Memory) remove(ctx context.Context, slug nipae.Slug, o SetOptions) (client.Entry, client.Status, error) {
	if err := m.writable(); err != nil {
		return client.Entry{}, client.Status{}, err
	}
	if slug.IsCore() {
		return client.Entry{}, client.Status{}, client.ErrCore
	}
	var there client.Entry
	entry, status, err := m.write(ctx, slug, o, func(reading nipae.Reading) (nipae.Body, error) {
		switch {
		case reading.Head == nil && !reading.Absent():
			return nipae.NewTombstone(slug)
		case reading.Head == nil:
			return nipae.Body{}, client.ErrNotFound
		case reading.Tombstone():
			there = client.EntryOf(*reading.Head)
			return nipae.Body{}, client.ErrTombstone
		}
		return reading.Head.Body.Tombstoned(), nil
	})
	absent := errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrTombstone)
	if absent && status.Partial {
		err = client.Failures(client.ErrPartial, status.Relays)
	}
	if absent {
		entry = there
	}
	return entry, status, err
}
