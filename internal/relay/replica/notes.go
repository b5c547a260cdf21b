package replica

import (
	"context"
	"fmt"
	"time"

	"engramd/internal/client/transfer"
	"engramd/internal/relay/store"
)

// A pass that breaks off leaves notes of how far it came, in the store, under the
// source's name and one of these words. The next one goes on from there, and takes
// besides what is new since the note was begun. A pass that ends leaves none.
const (
	notePages    = " pages"    // Number: what is dated later was read; Time: when that began
	noteVersions = " versions" // Number: of the last version read; Time: the source's when that began
)

const (
	// noteLasts is how long a note of pages holds: what arrives with a date of
	// long ago is found only by who reads everything.
	noteLasts = 24 * time.Hour
	// noteEach is after how many pages of versions a note is left.
	noteEach = 25
)

// noted returns a note, the zero Place for none.
func (f *Follower) noted(ctx context.Context, what string) (store.Place, error) {
	at, err := f.o.Store.FollowedTo(ctx, f.o.Name+what)
	if err != nil {
		return at, fmt.Errorf("%w: %w", errStore, err)
	}
	if old := f.o.Clock().Sub(time.Unix(at.Time, 0)); what == notePages && (old < 0 || old > noteLasts) {
		at = store.Place{}
	}
	return at, nil
}

// note leaves one, when all that it speaks of is stored.
func (f *Follower) note(ctx context.Context, k *sink, what string, at store.Place) error {
	if err := k.flush(); err != nil {
		return err
	}
	if err := f.o.Store.Follow(ctx, f.o.Name+what, at); err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	return nil
}

// forget removes what notes there are.
func (f *Follower) forget(ctx context.Context) error {
	for _, what := range []string{notePages, noteVersions} {
		at, err := f.o.Store.FollowedTo(ctx, f.o.Name+what)
		if err == nil && at != (store.Place{}) {
			err = f.o.Store.Follow(ctx, f.o.Name+what, store.Place{})
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errStore, err)
		}
	}
	return nil
}

// versionsOn takes superseded versions of all but contracts that were superseded
// since the time that was come to, from where a pass broke off. at is where the
// source stands.
func (f *Follower) versionsOn(ctx context.Context, src Source, k *sink, from store.Place, at transfer.PastAt) error {
	last, err := f.noted(ctx, noteVersions)
	if err != nil {
		return err
	}
	since := from.Time
	if last == (store.Place{}) || last.Number > at.Number || last.Time > at.Time {
		last = store.Place{Time: at.Time}
	}
	pages := 0
	err = f.versions(ctx, src, k, since, last.Number, func(after int64) error {
		if pages++; pages%noteEach != 0 {
			return nil
		}
		return f.note(ctx, k, noteVersions, store.Place{Number: after, Time: last.Time})
	})
	if err != nil || last.Number == 0 {
		return err
	}
	// What was superseded since then may have any number.
	return f.versions(ctx, src, k, last.Time, 0, nil)
}
