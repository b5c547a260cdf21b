package memory

import (
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

// isExchange reports whether an engram is a proposal, or the answer to one:
// that is no memory.
func isExchange(e nipae.Engram) bool { return nipae.IsExchange(e.Slug()) }

// isBookkeeping reports whether an engram is no memory: part of an exchange, or a
// unit of a writer's log.
func isBookkeeping(e nipae.Engram) bool { return isExchange(e) || writerlog.IsUnit(e.Slug()) }

// selectHeads is nipae.SelectHeads for what counts of the pair.
func (p *pair) selectHeads(events []*nostr.Event) nipae.Listing {
	l := nipae.SelectHeads(p.key(), p.agent, p.owner, events)
	if p.reversed {
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
