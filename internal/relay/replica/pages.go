package replica

import (
	"context"
	"errors"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
)

// pagesAtOnce is how many events are read before paging begins anew behind them,
// because a pager remembers what it has seen; and as many are read again at most
// after a pass that broke off.
const pagesAtOnce = 10_000

// paging reads a source page by page.
type paging func(ctx context.Context, src Source, k *sink, q nostr.Filter) (whole bool, err error)

// errEnough ends a row of pages.
var errEnough = errors.New("enough pages in a row")

// pages takes all that the source shows, and reports whether that was all.
func (f *Follower) pages(ctx context.Context, src Source, k *sink, q nostr.Filter) (whole bool, err error) {
	began := nostr.Timestamp(f.o.Clock().Unix())
	rows, whole, err := f.rows(ctx, src, k, q, nil)
	if err != nil || rows == 1 {
		return whole, err
	}
	// A single row asks itself for what was written meanwhile. The last of
	// several ends below that.
	_, also, err := f.rows(ctx, src, k, writtenSince(q, began-clockSlack), nil)
	return whole && also, err
}

// rows reads row after row of pages, newest first. came is told from when on the
// next one is asked for, as long as nothing was missing; nil is nobody.
func (f *Follower) rows(ctx context.Context, src Source, k *sink, q nostr.Filter, came func(until nostr.Timestamp) error) (rows int, whole bool, err error) {
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
		if whole && came != nil {
			if err := came(until); err != nil {
				return rows, false, err
			}
		}
	}
}

// pagesOn is pages of everything, from where a pass broke off.
func (f *Follower) pagesOn(ctx context.Context, src Source, k *sink, q nostr.Filter) (whole bool, err error) {
	at, err := f.noted(ctx, notePages)
	if err != nil {
		return false, err
	}
	everything := q
	resumed, began := at != (store.Place{}), f.o.Clock().Unix()
	whole, first := true, began
	if resumed {
		first = at.Time
		if _, whole, err = f.rows(ctx, src, k, writtenSince(everything, nostr.Timestamp(first-clockSlack)), nil); err != nil {
			return false, err
		}
		if until := nostr.Timestamp(at.Number); q.Until == nil || *q.Until > until {
			q.Until = &until
		}
	}
	came := func(until nostr.Timestamp) error {
		if !whole {
			return nil
		}
		return f.note(ctx, k, notePages, store.Place{Number: int64(until), Time: first})
	}
	rows, all, err := f.rows(ctx, src, k, q, came)
	if whole = whole && all; err != nil || rows == 1 && !resumed {
		return whole, err
	}
	if all {
		if err := came(0); err != nil {
			return false, err
		}
	}
	// A single row asks itself for what was written meanwhile. The last of
	// several ends below that.
	_, also, err := f.rows(ctx, src, k, writtenSince(everything, nostr.Timestamp(began-clockSlack)), nil)
	return whole && also, err
}
