package plans

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"engramd/internal/memory/consolidation"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
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
		r, err := p.loadHead(ctx, w, id)
		if err != nil {
			return err
		}
		if r.Status != Done && r.Status != Open && r.Status != Undoing {
			return fmt.Errorf("%w: %s is %s, and there is nothing to take back", ErrStatus, id, r.Status)
		}
		if err := p.loadContent(ctx, w, r); err != nil {
			return err
		}
		if r.Status != Undoing {
			if err := p.backable(ctx, w, r, force); err != nil {
				return err
			}
			if err := p.undoing(ctx, w, r); err != nil {
				return err
			}
		}
		out, err = p.back(ctx, w, r)
		return err
	})
	return out, err
}

// undoing has a record say that it is being taken back.
func (p *Plans) undoing(ctx context.Context, w *writer, r *record) (err error) {
	next := r.head
	next.Status, next.Closed, next.Machine, next.Was = Undoing, nil, p.machine(), r.Nonce
	if next.Nonce, err = p.nonce(); err != nil {
		return err
	}
	return p.reclaim(ctx, w, r, next)
}

// reclaim gives a record to this process, with the nonce of the next head. Whatever
// it fails with, what this machine had open before it still has open.
func (p *Plans) reclaim(ctx context.Context, w *writer, r *record, next head) error {
	open, err := p.opened(ctx, "")
	if err != nil {
		return err
	}
	had := ""
	for _, o := range open {
		if o.id == r.id {
			had = o.Nonce
		}
	}
	claimed := *r
	claimed.head = next
	if err := p.note(ctx, &claimed, had); err != nil {
		return err
	}
	cause := p.turn(ctx, w, r, next)
	if cause == nil {
		return nil
	}
	now, err := w.get(ctx, headSlug(r.id))
	if err != nil {
		return &OpenError{ID: r.id, Err: cause}
	}
	if h, err := readHead(r.id, now.text); had != "" || err == nil && h.Nonce == next.Nonce {
		return &OpenError{ID: r.id, Err: cause}
	}
	return errors.Join(cause, p.close(ctx, openPrefix+r.id))
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

// back takes the changes of a record that is being undone back, and closes it.
func (p *Plans) back(ctx context.Context, w *writer, r *record) (Undone, error) {
	out, err := p.unmake(ctx, w, r)
	if err != nil {
		return out, err
	}
	next, now := r.head, p.now()
	next.Status, next.Closed, next.UndoLeft = TakenBack, &now, out.Left
	err = p.finish(ctx, w, r, next)
	out.Behind = w.behind
	if err != nil {
		return out, err
	}
	return out, p.close(ctx, openPrefix+r.id)
}

// unmake takes the changes of a record back, the last first.
func (p *Plans) unmake(ctx context.Context, w *writer, r *record) (Undone, error) {
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
		if s := frontmatter.Parse(now.text).Fields().State; now.ok && s != frontmatter.Active {
			away[ch.Slug] = true
		}
	}
	return out, nil
}

// overtaken takes back what this process changed of a record while that was taken
// back elsewhere, and says so.
func (p *Plans) overtaken(ctx context.Context, w *writer, r *record) (Undone, error) {
	var out Undone
	var err error
	if r.Status == Undoing {
		out, err = p.back(ctx, w, r)
	} else {
		out, err = p.unmake(ctx, w, r)
	}
	if err == nil {
		err = p.close(ctx, openPrefix+r.id)
	}
	return out, err
}

// stoodInFor returns a unit that would be lost with what a change added: it is not
// active, and what was changed in it meanwhile is not ours to take back.
func stoodInFor(ch consolidation.Change, away map[string]bool) string {
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
