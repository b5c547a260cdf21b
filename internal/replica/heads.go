package replica

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/gate"
	"engramd/internal/store"
	"engramd/nips/nip77"
)

const (
	// maxSet bounds what is reconciled at once: 40 bytes each. Above it, a
	// relay is read page by page.
	maxSet = 1_000_000
	// fetchAtOnce is how many ids are looked up here, and then asked for, at a
	// time.
	fetchAtOnce = 1000
	// pagesAtOnce is how many events are read before paging begins anew behind
	// them, because a pager remembers what it has seen.
	pagesAtOnce = 50_000
	// clockSlack is how many seconds an author's clock is reckoned to be slow.
	clockSlack = 15 * 60
	// fetchTries is how often a source is asked for what it names and does not
	// deliver, until the pass counts as incomplete.
	fetchTries = 3
)

// heads takes what is stored there and not here, and reports whether that was
// all. A source that does not reconcile is read in full, or, with a time, only
// from then on.
func (f *Follower) heads(ctx context.Context, src Source, k *sink, q nostr.Filter, since nostr.Timestamp) (whole bool, err error) {
	for try := 1; ; try++ {
		need, err := f.missing(ctx, src, q)
		switch {
		case errors.Is(err, errStore), ctx.Err() != nil:
			return false, err
		case errors.Is(err, client.ErrNoSync), errors.Is(err, store.ErrMany), errors.Is(err, client.ErrMisbehaved):
			return f.pages(ctx, src, k, writtenSince(q, since))
		case err != nil:
			return false, err
		}
		if whole, err = f.fetch(ctx, src, k, q, need); err != nil || whole || try == fetchTries {
			return whole, err
		}
		// It is gone meanwhile, or replaced: then another id is named.
	}
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
	items, err := f.o.Store.IDs(ctx, store.Ask{Scope: scope, Filter: q}, maxSet, func(int) error { return nil })
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

// errEnough ends a row of pages.
var errEnough = errors.New("enough pages in a row")

// pages takes all that the source shows, and reports whether that was all.
func (f *Follower) pages(ctx context.Context, src Source, k *sink, q nostr.Filter) (whole bool, err error) {
	began := nostr.Timestamp(f.o.Clock().Unix())
	rows, whole, err := f.rows(ctx, src, k, q)
	if err != nil || rows == 1 {
		return whole, err
	}
	// A single row asks itself for what was written meanwhile. The last of
	// several ends below that.
	_, also, err := f.rows(ctx, src, k, writtenSince(q, began-clockSlack))
	return whole && also, err
}

// rows reads row after row of pages, newest first.
func (f *Follower) rows(ctx context.Context, src Source, k *sink, q nostr.Filter) (rows int, whole bool, err error) {
	for whole = true; ; {
		n, oldest := 0, nostr.Timestamp(0)
		status, err := src.Pages(ctx, q, func(ev *nostr.Event) error {
			if n > pagesAtOnce && ev.CreatedAt < oldest {
				return errEnough
			}
			if n++; n == 1 || ev.CreatedAt < oldest {
				oldest = ev.CreatedAt
			}
			return k.put(ev, false)
		})
		rows++
		whole = whole && !status.Cut && status.Rejected == 0
		if !errors.Is(err, errEnough) {
			if err != nil {
				return rows, false, err
			}
			return rows, whole && status.Complete, k.flush()
		}
		until := oldest - 1
		q.Until = &until
	}
}
