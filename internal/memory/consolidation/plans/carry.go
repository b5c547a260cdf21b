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
func (p *Plans) carry(ctx context.Context, w *writer, r *record) (Result, error) {
	var left []Left
	relies := map[string]string{} // what takes away, and the unit it relies on
	looked := p.now()
	for _, ch := range r.content.Changes {
		if err := p.still(ctx, w, r, &looked); err != nil {
			return p.stopped(ctx, w, r, err)
		}
		from, to := textOf(ch.Base != "", ch.Old), textOf(true, ch.New)
		if on := relies[ch.Slug]; on != "" {
			if now, err := w.get(ctx, nipae.Slug(ch.Slug)); err != nil || !now.is(to) {
				left = append(left, Left{ch.Slug, "it relies on " + on + ", which was left"})
				continue
			}
		}
		why, _, err := w.step(ctx, nipae.Slug(ch.Slug), from, to)
		if err != nil {
			return r.result(w), &OpenError{ID: r.id, Err: err}
		}
		if why == "" {
			continue
		}
		left = append(left, Left{ch.Slug, why})
		for _, slug := range reliedOn(ch.New) {
			relies[slug] = ch.Slug
		}
	}
	next, now := r.head, p.now()
	next.Status, next.Closed, next.Left, next.Before = Done, &now, left, nil
	if err := p.finish(ctx, w, r, next); err != nil {
		return p.stopped(ctx, w, r, err)
	}
	if r.Status == TakenBack {
		return p.stopped(ctx, w, r, ErrStatus)
	}
	if err := p.settle(ctx, r.content.Plan, r.content.Operations); err != nil {
		return r.result(w), err
	}
	out := r.result(w)
	out.Left = left // a head may have room for fewer
	return out, p.close(ctx, openPrefix+r.id)
}

// stopped says why a commit did not come to its end. If its record is being taken back
// elsewhere, or was, what was changed here since is taken back too.
func (p *Plans) stopped(ctx context.Context, w *writer, r *record, cause error) (Result, error) {
	var open *OpenError
	if !errors.As(cause, &open) {
		cause = &OpenError{ID: r.id, Err: cause}
	}
	if !errors.Is(cause, ErrStatus) && !errors.Is(cause, client.ErrConflict) {
		return r.result(w), cause
	}
	now, err := p.loadHead(ctx, w, r.id)
	if err != nil || now.Status != TakenBack && now.Status != Undoing {
		return r.result(w), cause
	}
	now.content = r.content
	undone, err := p.overtaken(ctx, w, now)
	out := now.result(w)
	out.Left = undone.Left
	if err == nil {
		err = fmt.Errorf("%w: %s was taken back meanwhile", ErrStatus, r.id)
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
func (p *Plans) still(ctx context.Context, w *writer, r *record, looked *time.Time) error {
	now := p.now()
	if d := now.Sub(*looked); d < lookAgain && d >= 0 {
		return nil
	}
	if at, err := w.get(ctx, headSlug(r.id)); err != nil {
		return err
	} else if !at.is(&r.text) {
		return ErrStatus
	}
	*looked = now
	return nil
}

// finish closes a record. One that was finished elsewhere at the same time is
// finished.
func (p *Plans) finish(ctx context.Context, w *writer, r *record, next head) error {
	err := p.turn(ctx, w, r, next)
	if err == nil {
		return nil
	}
	if errors.Is(err, client.ErrConflict) {
		other, readErr := p.loadHead(ctx, w, r.id)
		if readErr == nil && other.Status.closed() {
			r.head, r.text = other.head, other.text
			return nil
		}
	}
	return &OpenError{ID: r.id, Err: err}
}
