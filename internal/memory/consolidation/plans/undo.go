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
func (p *Plans) Undo(ctx context.Context, id string, force bool) (Undone, error) {
	return locked(ctx, p, p.wait(), func(w *writer) (Undone, error) {
		r, err := w.loadHead(ctx, id)
		if err != nil {
			return Undone{}, err
		}
		if r.Status != Done && r.Status != Open && r.Status != Undoing {
			return Undone{}, fmt.Errorf("%w: %s is %s, and there is nothing to take back", ErrStatus, id, r.Status)
		}
		if err := w.loadContent(ctx, r); err != nil {
			return Undone{}, err
		}
		k := &job{p, w, r}
		if r.Status != Undoing {
			if err := k.backable(ctx, force); err != nil {
				return Undone{}, err
			}
			if err := k.undoing(ctx); err != nil {
				return Undone{}, err
			}
		}
		return k.back(ctx)
	})
}

// undoing has a record say that it is being taken back.
func (k *job) undoing(ctx context.Context) error {
	next := k.r.head
	next.Status, next.Closed, next.Machine, next.Was, next.Nonce = Undoing, nil, k.p.machine(), k.r.Nonce, nonce()
	return k.reclaim(ctx, next)
}

// reclaim gives a record to this process, with the nonce of the next head. Whatever
// it fails with, what this machine had open before it still has open.
func (k *job) reclaim(ctx context.Context, next head) error {
	open, err := openOf(ctx, k.p.Open)
	if err != nil {
		return err
	}
	had := ""
	for _, o := range open {
		if o.id == k.r.id {
			had = o.Nonce
		}
	}
	claimed := *k.r
	claimed.head = next
	if err := (&job{k.p, k.w, &claimed}).note(ctx, had); err != nil {
		return err
	}
	cause := k.turn(ctx, next)
	if cause == nil {
		return nil
	}
	now, err := k.w.get(ctx, headSlug(k.r.id))
	if err != nil {
		return &OpenError{ID: k.r.id, Err: cause}
	}
	if h, err := readHead(k.r.id, now.text); had != "" || err == nil && h.Nonce == next.Nonce {
		return &OpenError{ID: k.r.id, Err: cause}
	}
	return errors.Join(cause, k.p.close(ctx, openPrefix+k.r.id))
}

// backable refuses to take a plan back of which a unit was changed since.
func (k *job) backable(ctx context.Context, force bool) error {
	e := &ChangedError{ID: k.r.id}
	for _, ch := range k.r.content.Changes {
		if isLeft(k.r.Left, ch.Slug) {
			continue
		}
		now, err := k.w.get(ctx, nipae.Slug(ch.Slug))
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
func (k *job) back(ctx context.Context) (Undone, error) {
	out, err := k.unmake(ctx)
	if err != nil {
		return out, err
	}
	next, now := k.r.head, k.p.now()
	next.Status, next.Closed, next.UndoLeft = TakenBack, &now, out.Left
	err = k.finish(ctx, next)
	out.Behind = k.w.behind
	if err != nil {
		return out, err
	}
	return out, k.p.close(ctx, openPrefix+k.r.id)
}

// unmake takes the changes of a record back, the last first.
func (k *job) unmake(ctx context.Context) (Undone, error) {
	out := Undone{ID: k.r.id}
	away := map[string]bool{} // what was left, and is not active
	looked := k.p.now()
	for _, ch := range slices.Backward(k.r.content.Changes) {
		if isLeft(k.r.Left, ch.Slug) {
			continue
		}
		if err := k.still(ctx, &looked); err != nil {
			return out, &OpenError{ID: k.r.id, Err: err}
		}
		if slug := stoodInFor(ch, away); slug != "" {
			out.Left = append(out.Left, Left{ch.Slug, "it stands in for " + slug + ", which was changed meanwhile and is not active"})
			continue
		}
		why, now, err := k.w.step(ctx, nipae.Slug(ch.Slug), textOf(true, ch.New), textOf(ch.Base != "", ch.Old))
		if err != nil {
			return out, &OpenError{ID: k.r.id, Err: err}
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
func (k *job) overtaken(ctx context.Context) (Undone, error) {
	var out Undone
	var err error
	if k.r.Status == Undoing {
		out, err = k.back(ctx)
	} else {
		out, err = k.unmake(ctx)
	}
	if err == nil {
		err = k.p.close(ctx, openPrefix+k.r.id)
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
