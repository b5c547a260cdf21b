package replica

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/transfer"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/nip77"
)

const (
	// maxSet bounds what is reconciled at once: 40 bytes each. Above it, a
	// part of the time is.
	maxSet = 1_000_000
	// maxParts is how often the time is halved, until a relay is read page by
	// page.
	maxParts = 1000
	// fetchAtOnce is how many ids are looked up here, and then asked for, at a
	// time.
	fetchAtOnce = 1000
	// clockSlack is how many seconds an author's clock is reckoned to be slow.
	clockSlack = 15 * 60
	// fetchTries is how often a source is asked for what it names and does not
	// deliver, until the pass counts as incomplete.
	fetchTries = 3
)

// heads takes what is stored there and not here, and reports whether that was
// all. What is too much to reconcile at once is parted by halves of the time; a
// source that does not reconcile is read in pages.
func (f *Follower) heads(ctx context.Context, src Source, k *sink, q nostr.Filter, pages paging) (whole bool, err error) {
	whole = true
	parts := []nostr.Filter{q}
	for n := 1; len(parts) > 0; n++ {
		all, err := f.headsIn(ctx, src, k, parts[0])
		if errors.Is(err, store.ErrMany) && n < maxParts {
			if early, late, ok := f.halves(parts[0]); ok {
				parts = append([]nostr.Filter{early, late}, parts[1:]...)
				continue
			}
		}
		switch {
		case errors.Is(err, errStore), ctx.Err() != nil:
			return false, err
		case errors.Is(err, transfer.ErrNoSync), errors.Is(err, store.ErrMany), errors.Is(err, client.ErrMisbehaved):
			return pages(ctx, src, k, q)
		case err != nil:
			return false, err
		}
		whole, parts = whole && all, parts[1:]
	}
	return whole, nil
}

// headsIn is heads by one reconciliation. store.ErrMany: it is too much for one.
func (f *Follower) headsIn(ctx context.Context, src Source, k *sink, q nostr.Filter) (whole bool, err error) {
	for try := 1; ; try++ {
		need, err := f.missing(ctx, src, q)
		if err != nil {
			return false, err
		}
		if whole, err = f.fetch(ctx, src, k, q, need); err != nil || whole || try == fetchTries {
			return whole, err
		}
		// It is gone meanwhile, or replaced: then another id is named.
	}
}

// halves parts the time of a filter, up to now where it has no end; false if
// there is no second less.
func (f *Follower) halves(q nostr.Filter) (early, late nostr.Filter, ok bool) {
	lo, hi := nostr.Timestamp(0), nostr.Timestamp(f.o.Clock().Unix())
	if q.Since != nil {
		lo = *q.Since
	}
	if q.Until != nil {
		hi = *q.Until
	}
	if lo >= hi {
		return q, q, false
	}
	middle := lo + (hi-lo)/2
	early, late = q, q
	early.Until, late.Since = &middle, new(middle+1)
	return early, late, true
}

// fetch takes events by their ids and reports whether all came.
func (f *Follower) fetch(ctx context.Context, src Source, k *sink, q nostr.Filter, need [][32]byte) (whole bool, err error) {
	whole = true
	for chunk := range slices.Chunk(need, fetchAtOnce) {
		if chunk, err = f.unknown(ctx, chunk); err != nil {
			return false, err
		}
		if len(chunk) == 0 {
			continue
		}
		missing, err := src.Fetch(ctx, q, chunk, func(ev *nostr.Event) error { return k.put(ev, false) })
		if err != nil {
			return false, err
		}
		whole = whole && len(missing) == 0
	}
	return whole, k.flush()
}

// writtenSince restricts a filter to what is dated at a time or later.
func writtenSince(q nostr.Filter, since nostr.Timestamp) nostr.Filter {
	if since > 0 && (q.Since == nil || *q.Since < since) {
		q.Since = &since
	}
	return q
}

// missing are the ids that the source has and this relay, as far as the source
// may know of it, has not. What the source is told of is what the key that asks
// it may read here: ids are keys.
func (f *Follower) missing(ctx context.Context, src Source, q nostr.Filter) ([][32]byte, error) {
	scope := gate.Party(f.o.Table(), gate.NewReader(f.o.PubKey))
	items, err := f.o.Store.IDs(ctx, store.Ask{Scope: scope, Filter: q}, f.most, func(int) error { return nil })
	if errors.Is(err, store.ErrMany) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStore, err)
	}
	items = slices.DeleteFunc(append(items, f.seen.items(q)...), func(i nip77.Item) bool { return i.CreatedAt < 0 || i.CreatedAt == math.MaxInt64 }) // NIP-77 has no such times
	_, need, err := src.Reconcile(ctx, q, items)
	return need, err
}

// unknown leaves out what is here already, or was looked at before.
func (f *Follower) unknown(ctx context.Context, ids [][32]byte) ([][32]byte, error) {
	ask := store.Ask{Scope: gate.Operator()}
	for _, id := range ids {
		if !f.seen.has(id) {
			ask.Filter.IDs = append(ask.Filter.IDs, fmt.Sprintf("%x", id))
		}
	}
	if len(ask.Filter.IDs) == 0 {
		return nil, nil
	}
	here, err := f.o.Store.IDs(ctx, ask, len(ids), func(int) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStore, err)
	}
	have := make(map[[32]byte]bool, len(here))
	for _, item := range here {
		have[item.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id [32]byte) bool { return have[id] || f.seen.has(id) }), nil
}
