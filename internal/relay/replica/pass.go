package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/transfer"
	"engramd/internal/relay/store"
	"engramd/nips/kind"
	"engramd/nips/niptemp"
)

const (
	// sinceSlack is how many seconds a source's clock may go back, and how long
	// a version may be on its way to its disk.
	sinceSlack = 60
)

var (
	requests = []int{nostr.KindDeletion, kind.Vanish}
	memories = []int{niptemp.KindEntry, niptemp.KindState}
)

// outcome is what a pass that ended without an error may yet have missed.
type outcome struct {
	incomplete bool // the source named or hid something that did not come
	noHistory  bool // it shows no superseded versions to this key
}

func (o outcome) String() string {
	var missing []string
	if o.incomplete {
		missing = append(missing, "not all that it names came")
	}
	if o.noHistory {
		missing = append(missing, "it shows no superseded versions to this key")
	}
	return strings.Join(missing, "; ")
}

// pass takes what is there and not here. See the package's comment for its
// order. The place is moved on only if nothing is missing up to it.
func (f *Follower) pass(ctx context.Context, src Source, k *sink) (out outcome, err error) {
	out, err = f.passOnce(ctx, src, k)
	if err == nil {
		err = f.forget(ctx)
	}
	return out, err
}

func (f *Follower) passOnce(ctx context.Context, src Source, k *sink) (out outcome, err error) {
	from, err := f.o.Store.FollowedTo(ctx, f.o.Name)
	if err != nil {
		return out, fmt.Errorf("%w: %w", errStore, err)
	}
	if q, any := only(f.o.Filter, requests); any {
		if _, err := f.heads(ctx, src, k, q, f.pages); err != nil {
			return out, err // what does not come is asked for again below
		}
	}
	at, shown, err := f.contracts(ctx, src, k, from)
	if err != nil {
		return out, err
	}
	out.noHistory = !shown
	whole, err := f.heads(ctx, src, k, f.o.Filter, f.pagesOn)
	if out.incomplete = !whole; err != nil || !shown {
		return out, err
	}
	if _, _, err := f.contracts(ctx, src, k, from); err != nil {
		return out, err
	}
	if err := f.versionsOn(ctx, src, k, from, at); err != nil {
		return out, err
	}
	// A head that was replaced in between came as superseded, and what replaced
	// it did not.
	whole, err = f.heads(ctx, src, k, f.o.Filter, func(ctx context.Context, src Source, k *sink, q nostr.Filter) (bool, error) {
		return f.pages(ctx, src, k, writtenSince(q, nostr.Timestamp(at.Time-clockSlack)))
	})
	if out.incomplete = out.incomplete || !whole; err != nil || out.incomplete {
		return out, err
	}
	if err := f.o.Store.Follow(ctx, f.o.Name, store.Place(at)); err != nil {
		return out, fmt.Errorf("%w: %w", errStore, err)
	}
	return out, nil
}

// contracts takes superseded contract memory that arrived at the source after
// the place that was come to, and says where the source stands, and whether it
// shows any history to this key. A source that stands before that place is
// another one, or went back: all is read.
func (f *Follower) contracts(ctx context.Context, src Source, k *sink, from store.Place) (at transfer.PastAt, shown bool, err error) {
	q := transfer.PastQuery{After: from.Number}
	var any bool
	if q.Filter, any = only(f.o.Filter, memories); !any {
		q.Filter.Kinds = requests // which have no versions: where the source stands is wanted all the same
	}
	for {
		at, err = src.Past(ctx, q, func(ev *nostr.Event) error { return k.put(ev, true) })
		switch {
		case errors.Is(err, client.ErrNoHistory), errors.Is(err, client.ErrAuth):
			return at, false, nil
		case err != nil:
			return at, false, err
		case at.Number >= q.After:
			return at, true, k.flush()
		}
		q.After = 0
	}
}

// versions takes superseded versions of all else behind a number that were
// superseded since a time.
func (f *Follower) versions(ctx context.Context, src Source, k *sink, since, after int64, came func(after int64) error) error {
	since = max(0, since-sinceSlack)
	q := transfer.PastQuery{Filter: f.o.Filter, After: after, Since: &since, Came: came}
	for {
		at, err := src.Past(ctx, q, func(ev *nostr.Event) error { return k.put(ev, true) })
		if err == nil {
			err = k.flush()
		}
		if err != nil || at.Time >= since {
			return err
		}
		since, q.After = 0, 0
	}
}

// only restricts a filter to some kinds, and reports whether any is left.
func only(f nostr.Filter, kinds []int) (nostr.Filter, bool) {
	if f.Kinds == nil {
		f.Kinds = kinds
	} else {
		f.Kinds = slices.DeleteFunc(slices.Clone(kinds), func(k int) bool { return !slices.Contains(f.Kinds, k) })
	}
	return f, len(f.Kinds) > 0
}
