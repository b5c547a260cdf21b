package client

import (
	"context"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

// isExchange reports whether an engram is a proposal, or the answer to one:
// that is no memory.
func isExchange(e nipae.Engram) bool { return nipae.IsExchange(e.Slug()) }

// withoutExchange returns a listing without proposals and answers, and whether
// anything is left of it.
func withoutExchange(l nipae.Listing) (nipae.Listing, bool) {
	l.Memories = slices.DeleteFunc(slices.Clone(l.Memories), isExchange)
	l.Tombstones = slices.DeleteFunc(slices.Clone(l.Tombstones), isExchange)
	return l, l.Core != nil || len(l.Memories)+len(l.Tombstones)+len(l.Unreadable) > 0
}

// owners returns those of the keys for which the client's own key remembers
// something: as far as that is seen in what it wrote last, maxOthers events. What
// such a key writes to the client's is the reversed pair of NIP-AE's: an owner
// who proposes, and no agent. In what could not be read nothing is seen.
func (c *Client) owners(ctx context.Context, targets []target, keys []string) ([]string, []RelayStatus, error) {
	me := c.id.PubKey()
	keys = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == me })
	if len(keys) == 0 {
		return nil, nil, nil
	}
	a, err := c.askSoon(ctx, targets, nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{me}, Limit: maxOthers})
	if err != nil {
		return nil, a.Relays, err
	}
	to := map[string][]*nostr.Event{}
	for _, ev := range a.Events {
		if tag := ev.Tags.Find("p"); tag != nil && slices.Contains(keys, tag[1]) {
			to[tag[1]] = append(to[tag[1]], ev)
		}
	}
	var owners []string
	for other, events := range to {
		key, err := c.conversation(other)
		if err != nil {
			continue // no key: nothing can have been written for it
		}
		l, _ := withoutExchange(nipae.SelectHeads(key(), me, other, events))
		if l.Core != nil || len(l.Memories)+len(l.Tombstones) > 0 {
			owners = append(owners, other)
		}
	}
	return owners, a.Relays, nil
}
