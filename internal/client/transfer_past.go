package client

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

// past returns the superseded versions of those addresses that a target takes,
// where it and the source show history: those that are newer than what it has.
// Older ones that it lacks are noted.
func (x *transfer) past(ctx context.Context, to *Peer, at map[address][]*offered, heads map[address]*nostr.Event, t *TransferTarget) ([]*nostr.Event, error) {
	if len(at) == 0 {
		return nil, nil
	}
	keeps, err := x.keepsHistory(ctx, to)
	if err != nil {
		return nil, err
	}
	wanted := map[*Peer]map[address]bool{}
	for a, versions := range at {
		for _, o := range versions {
			for _, from := range o.from {
				if wanted[from] == nil {
					wanted[from] = map[address]bool{}
				}
				wanted[from][a] = true
			}
		}
	}
	known := map[string]*nostr.Event{}
	for _, from := range x.Sources {
		if from == to || len(wanted[from]) == 0 {
			continue
		}
		if has, err := x.keepsHistory(ctx, from); err != nil || !has {
			if err != nil {
				x.fail(from, err)
			}
			continue
		}
		x.Progress("reading the history at " + from.t.url)
		rejected, err := history(ctx, from, slices.Collect(maps.Keys(wanted[from])), x.since(), known)
		x.sources[from].Rejected += rejected
		if err != nil {
			x.fail(from, err)
		}
	}
	var out, older []*nostr.Event
	for _, v := range known {
		a, _ := addressOf(v)
		switch head := heads[a]; {
		case x.expired(v):
			t.Expired++
		case !keeps:
			t.NotMoved = append(t.NotMoved, Moved{v, "the relay shows no history"})
		case head == nil || supersedes(v, head):
			out = append(out, v)
			t.Past++
		case v.ID != head.ID:
			older = append(older, v)
		}
	}
	return out, x.older(ctx, to, older, t)
}

// older notes versions that a target lacks and cannot be given any more.
func (x *transfer) older(ctx context.Context, to *Peer, older []*nostr.Event, t *TransferTarget) error {
	if len(older) == 0 {
		return nil
	}
	at := map[address]bool{}
	for _, v := range older {
		a, _ := addressOf(v)
		at[a] = true
	}
	there := map[string]*nostr.Event{}
	if _, err := history(ctx, to, slices.Collect(maps.Keys(at)), x.since(), there); err != nil {
		return err
	}
	for _, v := range older {
		if there[v.ID] == nil {
			t.NotMoved = append(t.NotMoved, Moved{v, "the relay has a newer version"})
		}
	}
	return nil
}

// since is where the filters begin.
func (x *transfer) since() *nostr.Timestamp { return x.Filters[0].Since }

// keepsHistory reports whether a relay shows superseded versions (GET /history).
func (x *transfer) keepsHistory(ctx context.Context, p *Peer) (bool, error) {
	if keeps, known := x.keeps[p]; known {
		return keeps, nil
	}
	f := nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{p.c.id.PubKey()}, Limit: 1}
	_, err := p.History(ctx, f, func(*nostr.Event) error { return nil })
	if err != nil && !errors.Is(err, ErrNoHistory) && !hangsUp(err) {
		return false, err
	}
	x.keeps[p] = err == nil
	return err == nil, nil
}

// history adds the superseded versions of addresses: one by one where they are
// few, else with all others of their author. It returns how many events were wrong
// or not for this key.
func history(ctx context.Context, p *Peer, at []address, since *nostr.Timestamp, to map[string]*nostr.Event) (rejected int, err error) {
	wanted, groups := map[address]bool{}, map[address][]address{}
	for _, a := range at {
		g := address{kind: a.kind, author: a.author}
		wanted[a], groups[g] = true, append(groups[g], a)
	}
	me := p.c.id.PubKey()
	take := func(ev *nostr.Event) error {
		if ev.PubKey != me && ev.Tags.FindWithValue("p", me) == nil {
			rejected++
			return nil
		}
		if a, _ := addressOf(ev); wanted[a] && (since == nil || ev.CreatedAt >= *since) {
			to[ev.ID] = ev
		}
		return nil
	}
	for g, all := range groups {
		f := nostr.Filter{Kinds: []int{g.kind}, Authors: []string{g.author}}
		filters := []nostr.Filter{f}
		if len(all) <= fewAddresses && nostr.IsAddressableKind(g.kind) {
			filters = nil
			for _, a := range all {
				f.Tags = nostr.TagMap{"d": {a.d}}
				filters = append(filters, f)
			}
		}
		for _, f := range filters {
			status, err := p.History(ctx, f, take)
			rejected += status.Rejected
			if err != nil {
				return rejected, err
			}
		}
	}
	return rejected, nil
}
