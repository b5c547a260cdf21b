package plans

import (
	"context"
	"fmt"
	"slices"

	"engramd/internal/mind"
	"engramd/nips/nipae"
	"engramd/nips/unit"
)

// Undo brings back what a plan changed, byte for byte and with the trust that it
// had, out of the plan's record. If a unit was changed since, nothing is written and
// the error is a *ChangedError, unless force says that the rest is to be brought
// back. What the plan added is removed. A plan that is not finished can be taken
// back too.
//
// ErrStatus says that there is nothing to take back, an *OpenError that it is not
// finished.
func (p *Plans) Undo(ctx context.Context, id string, force bool) (out Undone, err error) {
	err = p.locked(ctx, p.wait(), func() error {
		w := &writer{memory: p.Memory}
		r, err := p.load(ctx, w, id)
		if err != nil {
			return err
		}
		switch r.Status {
		case Done, Open:
			if err := p.backable(ctx, w, r, force); err != nil {
				return err
			}
			if r.Nonce, err = p.nonce(); err != nil {
				return err
			}
			if err := p.note(ctx, r); err != nil {
				return err
			}
			next := r.head
			next.Status, next.Closed, next.Machine = Undoing, nil, p.machine()
			if err := p.turn(ctx, w, r, next); err != nil {
				return p.undecided(ctx, w, r, err)
			}
		case Undoing:
		default:
			return fmt.Errorf("%w: %s is %s, and there is nothing to take back", ErrStatus, id, r.Status)
		}
		out, err = p.back(ctx, w, r)
		return err
	})
	return out, err
}

// undecided is the error of a record that did not come to its next status, as far as
// is known.
func (p *Plans) undecided(ctx context.Context, w *writer, r *record, cause error) error {
	now, err := w.get(ctx, headSlug(r.id))
	if err != nil {
		return &OpenError{ID: r.id, Err: cause}
	}
	if h, err := readHead(r.id, now.text); err == nil && h.Nonce == r.Nonce {
		return &OpenError{ID: r.id, Err: cause}
	}
	if err := p.close(ctx, openPrefix+r.id); err != nil {
		return err
	}
	return cause
}

// backable refuses to take a plan back of which a unit was changed since.
func (p *Plans) backable(ctx context.Context, w *writer, r *record, force bool) error {
	e := &ChangedError{ID: r.id}
	for _, ch := range r.content.Changes {
		if isLeft(r.Left, ch.Slug) {
			continue
		}
		now, err := w.get(ctx, nipae.Slug(ch.Slug))
		if err != nil {
			return fmt.Errorf("%s: %w", ch.Slug, err)
		}
		switch {
		case now.is(textOf(true, ch.New)):
			e.Rest++
		case !now.is(textOf(ch.Base != "", ch.Old)):
			e.Changed = append(e.Changed, Left{ch.Slug, changedWhy(now)})
		}
	}
	if len(e.Changed) > 0 && !force {
		return e
	}
	return nil
}

func isLeft(all []Left, slug string) bool {
	return slices.ContainsFunc(all, func(l Left) bool { return l.Slug == slug })
}

// back takes the changes of a record that is being undone back, the last first, and
// closes it.
func (p *Plans) back(ctx context.Context, w *writer, r *record) (Undone, error) {
	out := Undone{ID: r.id}
	away := map[string]bool{} // what was left, and is not active
	looked := p.now()
	for _, ch := range slices.Backward(r.content.Changes) {
		if isLeft(r.Left, ch.Slug) {
			continue
		}
		if err := p.still(ctx, w, r, &looked); err != nil {
			return out, &OpenError{ID: r.id, Err: err}
		}
		if slug := stoodInFor(ch, away); slug != "" {
			out.Left = append(out.Left, Left{ch.Slug, "it stands in for " + slug + ", which was changed meanwhile and is not active"})
			continue
		}
		why, now, err := w.step(ctx, nipae.Slug(ch.Slug), textOf(true, ch.New), textOf(ch.Base != "", ch.Old))
		if err != nil {
			return out, &OpenError{ID: r.id, Err: err}
		}
		if why == "" {
			out.Back = append(out.Back, ch.Slug)
			continue
		}
		out.Left = append(out.Left, Left{ch.Slug, why})
		if s := unit.Parse(now.text).Fields().State; now.ok && s != unit.Active {
			away[ch.Slug] = true
		}
	}
	next, now := r.head, p.now()
	next.Status, next.Closed, next.UndoLeft = TakenBack, &now, out.Left
	err := p.finish(ctx, w, r, next)
	out.Behind = w.behind
	if err != nil {
		return out, err
	}
	return out, p.close(ctx, openPrefix+r.id)
}

// stoodInFor returns a unit that would be lost with what a change added: it is not
// active, and what was changed in it meanwhile is not ours to take back.
func stoodInFor(ch mind.Change, away map[string]bool) string {
	if ch.Base != "" {
		return ""
	}
	for _, slug := range reliedOn(ch.New) {
		if away[slug] {
			return slug
		}
	}
	return ""
}
