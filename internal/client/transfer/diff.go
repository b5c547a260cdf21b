package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nip77"
)

// compare adds what from has and to lacks.
func (x *transfer) compare(ctx context.Context, from, to *Peer, lacked map[string]*offered) error {
	for i, f := range x.Filters {
		only, err := x.onlyAt(ctx, from, to, i)
		if err != nil {
			return err
		}
		add := func(ev *nostr.Event) error {
			x.fetched[ev.ID] = ev
			if lacked[ev.ID] == nil {
				lacked[ev.ID] = &offered{event: ev}
			}
			lacked[ev.ID].from = append(lacked[ev.ID].from, from)
			return nil
		}
		var unknown [][32]byte
		for _, id := range only {
			name := fmt.Sprintf("%x", id)
			if ev := x.fetched[name]; ev != nil {
				_ = add(ev) // gives no error
			} else if ev := x.lists[listKey{from, i}][name]; ev != nil {
				_ = add(ev)
			} else {
				unknown = append(unknown, id)
			}
		}
		if len(unknown) > 0 {
			x.Progress("fetching " + events(len(unknown)) + " from " + from.t.URL)
		}
		missing, err := from.Fetch(ctx, f, unknown, func(ev *nostr.Event) error { return cmp.Or(x.hold(from, ev), add(ev)) })
		if err != nil {
			return &PeerError{from, err}
		}
		x.sources[from].Missing += len(missing)
	}
	return nil
}

// onlyAt returns the ids of what from has of a filter and to lacks.
func (x *transfer) onlyAt(ctx context.Context, from, to *Peer, filter int) ([][32]byte, error) {
	if d, ok := x.diffs[diffKey{to, from, filter}]; ok {
		return d.b, nil
	}
	d, err := x.differ(ctx, from, to, filter)
	if err != nil {
		return nil, err
	}
	x.diffs[diffKey{from, to, filter}] = d
	return d.a, nil
}

// differ compares two relays: by reconciling (NIP-77) where they offer it, else
// by reading everything.
func (x *transfer) differ(ctx context.Context, a, b *Peer, filter int) (difference, error) {
	f := x.Filters[filter]
	byA, errA := x.reconciles(ctx, a)
	byB, errB := x.reconciles(ctx, b)
	if err := errors.Join(errA, errB); err != nil {
		return difference{}, err
	}
	if (byA || byB) && !x.mayTell(ctx, a, b, f) {
		byA, byB = false, false
	}
	if byA && byB {
		onlyA, onlyB, err := a.Between(ctx, b, f)
		switch {
		case err == nil:
			return difference{onlyA, onlyB}, nil
		case errors.Is(err, errEndless):
			x.note("%v: both were read in full", err)
			byA, byB = false, false
		case errors.Is(err, ErrNoSync):
			return x.differ(ctx, a, b, filter) // now it is known who does not
		default:
			return difference{}, err
		}
	}
	switch {
	case byA:
		d, err := x.differWith(ctx, b, a, filter)
		return difference{d.b, d.a}, err
	case byB:
		return x.differWith(ctx, a, b, filter)
	}
	hereA, err := x.list(ctx, a, filter)
	if err != nil {
		return difference{}, err
	}
	hereB, err := x.list(ctx, b, filter)
	if err != nil {
		return difference{}, err
	}
	return difference{lackedBy(hereB, hereA), lackedBy(hereA, hereB)}, nil
}

// differWith reads all of a and reconciles it with b.
func (x *transfer) differWith(ctx context.Context, a, b *Peer, filter int) (difference, error) {
	list, err := x.list(ctx, a, filter)
	if err != nil {
		return difference{}, err
	}
	items := make([]nip77.Item, 0, len(list))
	for _, ev := range list {
		if ev.CreatedAt == math.MaxInt64 { // NIP-77 has no such time
			x.note("%s has an event that says it is of the end of all time: it was left out", a.t.URL)
			continue
		}
		items = append(items, nip77.Item{CreatedAt: int64(ev.CreatedAt), ID: rawID(ev)})
	}
	have, need, err := b.Reconcile(ctx, x.Filters[filter], items)
	switch {
	case errors.Is(err, ErrNoSync):
		return x.differ(ctx, a, b, filter)
	case err != nil:
		return difference{}, &PeerError{b, err}
	}
	return difference{have, need}, nil
}

// reconciles reports whether a relay offers NIP-77.
func (x *transfer) reconciles(ctx context.Context, p *Peer) (bool, error) {
	err := p.CanReconcile(ctx)
	if errors.Is(err, ErrNoSync) {
		return false, nil
	}
	return err == nil, p.blamed(err)
}

// list reads all that a relay shows of a filter, once.
func (x *transfer) list(ctx context.Context, p *Peer, filter int) (map[string]*nostr.Event, error) {
	key := listKey{p, filter}
	if list := x.lists[key]; list != nil {
		return list, nil
	}
	x.Progress("reading " + p.t.URL)
	list := map[string]*nostr.Event{}
	status, err := p.Pages(ctx, x.Filters[filter], func(ev *nostr.Event) error {
		list[ev.ID] = ev
		return x.hold(p, ev)
	})
	if err != nil {
		return nil, &PeerError{p, err}
	}
	if s := x.sources[p]; s != nil {
		s.Rejected += status.Rejected
		s.Cut = s.Cut || !status.Complete && status.Rejected == 0
	}
	x.lists[key] = list
	return list, nil
}

// lackedBy returns what is in a list and not in this one.
func lackedBy(list, other map[string]*nostr.Event) (ids [][32]byte) {
	for id, ev := range other {
		if list[id] == nil {
			ids = append(ids, rawID(ev))
		}
	}
	return ids
}
