package proposals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/transfer"
	"engramd/nips/nipae"
)

// Inbox is what was proposed and not answered.
type Inbox struct {
	Items []Item // newest first
	// Malformed counts those of the owner and of listed keys that are no
	// proposals, or cannot be read.
	Malformed int
	// Strangers counts records of keys that are not listed, as the relay that has
	// most counts them; they are never read. -1: no relay counts.
	Strangers int64
	More      bool // there are more than are looked at
}

// List returns what is proposed and open. Errors are client.ErrNoRelay, and
// client.ErrPartial if nothing was found and not every relay answered.
func (b *Box) List(ctx context.Context) (Inbox, client.Status, error) {
	counting, done := context.WithCancel(ctx)
	defer done()
	counted := make(chan int64, 1)
	go func() { counted <- b.strangers(counting) }()
	s, status, err := b.scan(ctx)
	late := time.AfterFunc(b.counts, done)
	defer late.Stop()
	in := Inbox{Malformed: s.malformed, More: s.more, Strangers: <-counted}
	if err != nil {
		return in, status, err
	}
	for _, item := range s.items {
		if item.Answer == nil {
			in.Items = append(in.Items, item)
		}
	}
	if len(in.Items) == 0 && status.Partial {
		err = client.ErrPartial
	}
	return in, status, err
}

// strangers counts what keys that are not listed address to the agent.
func (b *Box) strangers(ctx context.Context) int64 {
	all := nostr.Filter{Kinds: []int{nipae.Kind}, Tags: nostr.TagMap{"p": {b.o.Memory.Agent()}}}
	known := all
	known.Authors = append(b.proposers(), b.o.Memory.Agent())
	return transfer.CountBeyond(ctx, b.o.Client, all, known)
}

// proposers returns the keys whose proposals are read, the owner's first. Who owns
// himself cannot propose.
func (b *Box) proposers() []string {
	var keys []string
	for key := range b.listed {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	if owner := b.o.Memory.Owner(); owner != b.o.Memory.Agent() {
		keys = append([]string{owner}, keys...)
	}
	return keys
}

// Get returns the proposal whose event has that id, or begins with these 8 digits
// or more, with its answer if it has one. Errors are those of List, ErrID,
// client.ErrNotFound, and a *client.ConflictError if another one is in its place
// by now.
func (b *Box) Get(ctx context.Context, id string) (Item, client.Status, error) {
	if _, err := Find(nil, id); errors.Is(err, ErrID) {
		return Item{}, client.Status{}, err
	}
	s, status, err := b.scan(ctx)
	if err != nil {
		return Item{}, status, err
	}
	found, err := Find(s.items, id)
	switch {
	case !errors.Is(err, client.ErrNotFound):
		return found, status, err
	case slices.ContainsFunc(s.replaced, func(old string) bool { return strings.HasPrefix(old, id) }), b.wasThere(ctx, id):
		return Item{}, status, &client.ConflictError{Reason: "the proposal with that id was replaced or withdrawn"}
	case status.Partial:
		return Item{}, status, client.ErrPartial
	}
	return Item{}, status, client.ErrNotFound
}

// Find returns the one of some proposals whose event has that id, or begins with
// these digits. Errors are ErrID and client.ErrNotFound.
func Find(items []Item, id string) (Item, error) {
	if !isHexPart(id, MinID) {
		return Item{}, fmt.Errorf("%w: want the id of its event, or at least %d hex digits of it", ErrID, MinID)
	}
	at := -1
	for i, item := range items {
		if !strings.HasPrefix(item.EventID, id) {
			continue
		}
		if at >= 0 {
			return Item{}, fmt.Errorf("%w: several begin with it", ErrID)
		}
		at = i
	}
	if at < 0 {
		return Item{}, client.ErrNotFound
	}
	return items[at], nil
}

// wasThere reports whether relays show a superseded proposal with that id.
func (b *Box) wasThere(ctx context.Context, id string) bool {
	for _, key := range b.proposers() {
		a, err := b.o.Client.AskHistory(ctx, nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{key}, Limit: MaxShown})
		if err != nil && ctx.Err() != nil {
			return false
		}
		for _, ev := range a.Events {
			if strings.HasPrefix(ev.ID, id) && ev.Tags.FindWithValue("p", b.o.Memory.Agent()) != nil {
				return true
			}
		}
	}
	return false
}
