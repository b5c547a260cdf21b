package plans

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/client"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// lookAgain is after how long a plan that is being carried out is looked at again:
// who slept meanwhile may find that it was finished, and taken back, elsewhere.
const lookAgain = 30 * time.Second

// carry makes the changes of a record that is open, and closes it. It can be killed
// and called again at any point.
func (k *job) carry(ctx context.Context) (Result, error) {
	var left []Left
	relies := map[string]string{} // what takes away, and the unit it relies on
	looked := k.p.now()
	for _, ch := range k.r.content.Changes {
		if err := k.still(ctx, &looked); err != nil {
			return k.stopped(ctx, err)
		}
		from, to := textOf(ch.Base != "", ch.Old), textOf(true, ch.New)
		if on := relies[ch.Slug]; on != "" {
			if now, err := k.w.get(ctx, nipae.Slug(ch.Slug)); err != nil || !now.is(to) {
				left = append(left, Left{ch.Slug, "it relies on " + on + ", which was left"})
				continue
			}
		}
		why, _, err := k.w.step(ctx, nipae.Slug(ch.Slug), from, to)
		if err != nil {
			return k.r.result(k.w), &OpenError{ID: k.r.id, Err: err}
		}
		if why == "" {
			continue
		}
		left = append(left, Left{ch.Slug, why})
		for _, slug := range reliedOn(ch.New) {
			relies[slug] = ch.Slug
		}
	}
	next, now := k.r.head, k.p.now()
	next.Status, next.Closed, next.Left, next.Before = Done, &now, left, nil
	if err := k.finish(ctx, next); err != nil {
		return k.stopped(ctx, err)
	}
	if k.r.Status == TakenBack {
		return k.stopped(ctx, ErrStatus)
	}
	if err := k.p.settle(ctx, k.r.content.Plan, k.r.content.Operations); err != nil {
		return k.r.result(k.w), err
	}
	out := k.r.result(k.w)
	out.Left = left // a head may have room for fewer
	return out, k.p.close(ctx, openPrefix+k.r.id)
}

// stopped says why a commit did not come to its end. If its record is being taken back
// elsewhere, or was, what was changed here since is taken back too.
func (k *job) stopped(ctx context.Context, cause error) (Result, error) {
	var open *OpenError
	if !errors.As(cause, &open) {
		cause = &OpenError{ID: k.r.id, Err: cause}
	}
	if !errors.Is(cause, ErrStatus) && !errors.Is(cause, client.ErrConflict) {
		return k.r.result(k.w), cause
	}
	now, err := k.w.loadHead(ctx, k.r.id)
	if err != nil || now.Status != TakenBack && now.Status != Undoing {
		return k.r.result(k.w), cause
	}
	now.content = k.r.content
	undone, err := (&job{k.p, k.w, now}).overtaken(ctx)
	out := now.result(k.w)
	out.Left = undone.Left
	if err == nil {
		err = fmt.Errorf("%w: %s was taken back meanwhile", ErrStatus, k.r.id)
	}
	return out, err
}

// textOf is a text that may not be there.
func textOf(there bool, text string) *string {
	if !there {
		return nil
	}
	return &text
}

// reliedOn returns the units of which a text says that it says what they said: they
// are taken away only once it is there.
func reliedOn(text string) (slugs []string) {
	for _, rel := range frontmatter.Parse(text).Fields().Relations {
		if rel.Relation == "supersedes" || rel.Relation == "derived_from" {
			slugs = append(slugs, rel.Target)
		}
	}
	return slugs
}

// still reads the record again if it was not looked at for a while. The error is
// ErrStatus if it is at another point than this process is.
func (k *job) still(ctx context.Context, looked *time.Time) error {
	now := k.p.now()
	if d := now.Sub(*looked); d < lookAgain && d >= 0 {
		return nil
	}
	if at, err := k.w.get(ctx, headSlug(k.r.id)); err != nil {
		return err
	} else if !at.is(&k.r.text) {
		return ErrStatus
	}
	*looked = now
	return nil
}

// finish closes a record. One that was finished elsewhere at the same time is
// finished.
func (k *job) finish(ctx context.Context, next head) error {
	err := k.turn(ctx, next)
	if err == nil {
		return nil
	}
	if errors.Is(err, client.ErrConflict) {
		other, readErr := k.w.loadHead(ctx, k.r.id)
		if readErr == nil && other.Status.closed() {
			k.r.head, k.r.text = other.head, other.text
			return nil
		}
	}
	return &OpenError{ID: k.r.id, Err: err}
}
