package write

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

const (
	// rebases is how often a change is made again.
	rebases = 16
	// firstPause is the longest that is waited before the first time; it doubles.
	firstPause = 20 * time.Millisecond
)

// rebasing makes a change, and, as long as the caller gave no base, makes it again where
// somebody else wrote first: on what is there then, if the place is. It does so after a
// conflict of texts of which nothing was stored, within the time of ctx, and nothing else; where that is not known, it is
// looked up, and not made twice. added are its words.
func rebasing(ctx context.Context, w *Writer, slug nipae.Slug, base, added string, change func() (Result, error)) (Result, error) {
	r, err := change()
	for n := 1; base == "" && err != nil; n++ {
		var again bool
		if r, again, err = stored(ctx, w, slug, added, r, err); !again || n > rebases || pause(ctx, w, n) != nil || ctx.Err() != nil {
			return r, err
		}
		next, failed := change()
		if gone(failed) {
			return r, err
		}
		r, err = next, failed
		r.Status.Rebased = n
	}
	return r, err
}

// stored finds out whether a change that failed is stored: then there is no error. again
// reports that it is not, because somebody else wrote first.
func stored(ctx context.Context, w *Writer, slug nipae.Slug, added string, r Result, err error) (_ Result, again bool, _ error) {
	conflict, conflicts := errors.AsType[*client.ConflictError](err)
	switch {
	case errors.Is(err, client.ErrUnverified), client.Silent(err) && len(r.Status.Published) > 0:
	case conflicts && conflict.Sent && conflict.Theirs != nil && r.Status.Decider != "" && holds(conflict.Theirs.Text, r.Text, added):
		r.Entry = *conflict.Theirs // made from ours, before we had looked again
		return r, false, nil
	case !conflicts, conflict.Busy, conflict.Sent, client.Accepted(r.Status.Published) > 0:
		return r, false, err
	case !Doubtful(r.Status.Published):
		return r, true, err
	}
	keeper, ok := w.Memory.(keeper)
	if !ok {
		return r, false, err
	}
	found, unknown := keeper.Has(ctx, slug, r.ID, r.CreatedAt)
	switch {
	case !conflicts && (unknown != nil || !found.There):
		return r, false, err
	case unknown == nil && !found.There && (found.Sure || conflict.Theirs != nil && !holds(conflict.Theirs.Text, r.Text, added)):
		return r, true, err // where no history says it for sure, what is there does
	case !found.There:
		return r, false, &doubtError{conflict}
	}
	r.Status.Found(found.At)
	switch {
	case !conflicts:
		return r, false, nil
	case conflict.Theirs != nil && (conflict.Theirs.ID == r.ID || holds(conflict.Theirs.Text, r.Text, added)):
		r.Entry = *conflict.Theirs
		return r, false, nil
	}
	sent := *conflict
	sent.Sent = true
	return r, false, &sent
}

// doubtError is a conflict beside which it is not known whether the change is stored. It
// is client.ErrUnverified too.
type doubtError struct{ conflict *client.ConflictError }

func (e *doubtError) Error() string {
	return e.conflict.Error() + ", and it is not known whether the change is stored"
}

func (e *doubtError) Unwrap() []error { return []error{client.ErrUnverified, e.conflict} }

// Doubtful reports whether a relay may have what was sent, though none said that it took
// it: it did not answer, or has a newer version, which may have been made from ours.
func Doubtful(published []client.PublishStatus) bool {
	return client.FateOf(published) == client.Unknown || slices.ContainsFunc(published, func(s client.PublishStatus) bool { return s.Superseded })
}

// gone reports whether there is no place for an edit any more.
func gone(err error) bool {
	_, match := errors.AsType[*MatchError](err)
	return match || errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrTombstone)
}

// keeper tells whether an event was stored; *memory.Memory implements it.
type keeper interface {
	Has(ctx context.Context, slug nipae.Slug, id string, at int64) (memory.Found, error)
}

// holds reports whether a text that a relay took after ours has what ours added.
func holds(theirs, ours, added string) bool {
	return added != "" && strings.Count(theirs, added) >= strings.Count(ours, added)
}

// pause waits before the n-th time, so that two writers do not meet each time.
func pause(ctx context.Context, w *Writer, n int) error {
	if w.Pause != nil {
		return w.Pause(ctx, n)
	}
	select {
	case <-time.After(rand.N(firstPause << min(n-1, 5))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
