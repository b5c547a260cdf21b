package plans

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"engramd/internal/client"
	"engramd/internal/memory/consolidation"
	recallanswer "engramd/internal/memory/recall/answer"
	"engramd/nips/nipae"
)

// Commit judges operations on a plan that was shown here, and carries them out. No
// operation is a right answer, and writes nothing.
//
// An *consolidation.OpError, ErrNoPlan, ErrTooLarge and ErrBusy say that nothing was written;
// consolidation.ErrChanged beneath that a unit is not any more what the plan showed: prepare
// again. An *OpenError says that it is not finished.
func (p *Plans) Commit(ctx context.Context, id string, ops []consolidation.Op) (Result, error) {
	return p.take(ctx, id, ops, Open)
}

// Propose judges operations as Commit does, and leaves them in the plan's record to
// be looked at (Review, Accept, Reject).
func (p *Plans) Propose(ctx context.Context, id string, ops []consolidation.Op) (Result, error) {
	return p.take(ctx, id, ops, Proposed)
}

// take is Commit or Propose.
func (p *Plans) take(ctx context.Context, id string, ops []consolidation.Op, status Status) (Result, error) {
	return locked(ctx, p, p.wait(), func(w *writer) (Result, error) { return take(ctx, p, w, id, ops, status) })
}

func take(ctx context.Context, p *Plans, w *writer, id string, ops []consolidation.Op, status Status) (Result, error) {
	if err := p.resumeHere(ctx, func(o noted) bool { return o.Plan == id }); err != nil {
		return Result{}, err
	}
	plan, err := p.kept(ctx, id)
	if errors.Is(err, ErrNoPlan) {
		if out, ok, err := p.again(ctx, w, id, ops); ok || err != nil {
			return out, err
		}
	}
	if err != nil {
		return Result{}, err
	}
	changes, old, err := p.check(ctx, w, plan, ops)
	if err != nil {
		return Result{}, err
	}
	if len(changes) == 0 {
		return Result{}, p.settle(ctx, plan, ops)
	}
	k := &job{p: p, w: w}
	if err := k.begin(ctx, content{Plan: plan, Operations: ops, Changes: changes}, old, status); err != nil {
		return Result{}, err
	}
	if status == Open {
		out, err := k.carry(ctx)
		p.sweep(ctx)
		return out, err
	}
	err = errors.Join(p.settle(ctx, plan, nil), p.close(ctx, openPrefix+k.r.id))
	return k.r.result(w), err
}

// again returns what came of the same answer to the same plan, if that was taken
// here before: the call is made twice when its answer was lost. That it was not is
// known only if the records can be read.
func (p *Plans) again(ctx context.Context, w *writer, id string, ops []consolidation.Op) (out Result, ok bool, err error) {
	hash, err := opsHash(ops)
	if err != nil {
		return Result{}, false, err
	}
	for n := 1; n <= maxSuffix; n++ {
		r, err := w.loadHead(ctx, numbered(id, n))
		switch {
		case errors.Is(err, ErrRecord), errors.Is(err, client.ErrUnreadable):
			continue
		case errors.Is(err, ErrNoRecord):
			return Result{}, false, nil
		case err != nil:
			return Result{}, false, err
		case r.Ops != hash || r.Machine != p.machine() || r.Status != Done && r.Status != Proposed:
			continue
		}
		err = w.loadContent(ctx, r)
		switch {
		case errors.Is(err, ErrRecord), errors.Is(err, client.ErrUnreadable):
			continue
		case err != nil:
			return Result{}, false, err
		}
		out := r.result(w)
		out.Again = true
		return out, true, nil
	}
	return Result{}, false, nil
}

func (r *record) result(w *writer) Result {
	return Result{ID: r.id, Status: r.Status, Changes: r.content.Changes, Left: r.Left, Behind: w.behind}
}

// check judges operations by what is there now: by the source, and by the memory
// itself for all that they name, would change, or are judged by. old are the ids of
// what is there.
func (p *Plans) check(ctx context.Context, w *writer, plan consolidation.Plan, ops []consolidation.Op) (changes []consolidation.Change, old []string, err error) {
	heads := map[string]there{}
	get := func(slug string) error {
		if _, ok := heads[slug]; ok {
			return nil
		}
		now, err := w.get(ctx, nipae.Slug(slug))
		heads[slug] = now
		return err
	}
	for slug := range namedBy(ops) {
		if err := get(slug); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", slug, err)
		}
	}
	near := meaning(ctx, p, plan, ops) // a model is asked before the memory is held
	for {
		var behind []string // the source may be
		err = p.Source.Read(ctx, func(v recallanswer.View) error {
			changes, err = consolidation.Check(plan, ops, func(slug string) (string, string, bool) {
				now, ok := heads[slug]
				if !ok {
					behind = append(behind, slug)
					now.text, now.ok = v.Text(slug)
				}
				return now.text, client.Hash(now.text), now.ok
			}, consolidation.CheckOptions{Now: p.now(), Session: p.Session, View: v, Meaning: near})
			return err
		})
		if len(behind) == 0 {
			break
		}
		for _, slug := range behind {
			// What cannot be read speaks for nothing; what core says must be known.
			if err := get(slug); err != nil && (slug == string(nipae.Core) || !errors.Is(err, client.ErrUnreadable)) {
				return nil, nil, fmt.Errorf("%s: %w", slug, err)
			}
		}
	}
	if err != nil {
		return nil, nil, err
	}
	for _, ch := range changes {
		if err := get(ch.Slug); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", ch.Slug, err)
		}
		now := heads[ch.Slug]
		if now.ok != (ch.Base != "") || now.ok && client.Hash(now.text) != ch.Base {
			return nil, nil, fmt.Errorf("%s: %w: prepare again", ch.Slug, consolidation.ErrChanged)
		}
		old = append(old, now.id)
	}
	return changes, old, nil
}

// meaning compares what a dream's insights say with what is there, nil without a
// model. One that fails leaves the others to words: it must not cost more time.
func meaning(ctx context.Context, p *Plans, plan consolidation.Plan, ops []consolidation.Op) consolidation.Meaning {
	if p.Near == nil || plan.Kind != consolidation.Dream {
		return nil
	}
	near := map[string]func(string, int) (float64, bool){}
	for _, text := range consolidation.Insights(ops) {
		compared, err := p.Near(ctx, text)
		if err != nil {
			break
		}
		near[text] = compared
	}
	return func(text string) func(string, int) (float64, bool) { return near[text] }
}

func namedBy(ops []consolidation.Op) map[string]bool {
	named := map[string]bool{}
	for _, op := range ops {
		for _, s := range slices.Concat([]string{op.Slug, op.Old, op.New, op.From, op.To}, op.DerivedFrom, op.InspiredBy) {
			if slug, err := nipae.NormalizeSlug(s); err == nil {
				named[string(slug)] = true
			}
		}
	}
	return named
}
