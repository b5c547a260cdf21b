package plans

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"engramd/internal/client"
	"engramd/internal/memory/consolidation"
)

// ResumeOpen finishes what processes of this machine have begun and not finished,
// the undoing of plans too. While another one is at it, it does nothing. Of each
// record something is returned even if another one cannot be finished now.
func (p *Plans) ResumeOpen(ctx context.Context) (all []Result, err error) {
	all, err = locked(ctx, p, 0, func(*writer) (all []Result, err error) {
		open, err := openOf(ctx, p.Open)
		if err != nil {
			return nil, err
		}
		var errs []error
		for _, o := range open {
			out, ok, err := p.resumeNoted(ctx, o)
			if ok {
				all = append(all, out)
			}
			errs = append(errs, err)
		}
		p.sweep(ctx)
		return all, errors.Join(errs...)
	})
	if errors.Is(err, ErrBusy) {
		return nil, nil
	}
	return all, err
}

// Resume finishes a record that was begun here or elsewhere. One that is finished
// stays as it is.
func (p *Plans) Resume(ctx context.Context, id string) (Result, error) {
	return locked(ctx, p, p.wait(), func(w *writer) (Result, error) {
		r, err := w.loadHead(ctx, id)
		if err != nil {
			return Result{}, err
		}
		return (&job{p, w, r}).resume(ctx)
	})
}

// resumeHere finishes some of what was begun here.
func (p *Plans) resumeHere(ctx context.Context, which func(noted) bool) error {
	open, err := openOf(ctx, p.Open)
	if err != nil {
		return err
	}
	for _, o := range open {
		if !which(o) {
			continue
		}
		if _, _, err := p.resumeNoted(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// noted is a record that the state has open.
type noted struct {
	id string
	opened
}

// openOf returns the records that the state has open.
func openOf(ctx context.Context, plans OpenPlans) (all []noted, err error) {
	kept, err := plans.All(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range kept {
		id, ok := strings.CutPrefix(k.ID, openPrefix)
		if !ok {
			continue
		}
		n := noted{id: id}
		if err := json.Unmarshal(k.Data, &n.opened); err != nil {
			return nil, fmt.Errorf("what the state has of %s: %w", id, err)
		}
		all = append(all, n)
	}
	return all, nil
}

// resumeNoted finishes a record that the state has open. ok says that there was
// something to finish.
func (p *Plans) resumeNoted(ctx context.Context, o noted) (out Result, ok bool, err error) {
	w := &writer{memory: p.Memory}
	r, err := w.loadHead(ctx, o.id)
	switch {
	case err == nil && !o.owns(r.Nonce) && o.owns(r.Was) && (r.Status == Undoing || r.Status == TakenBack):
		// It was killed while it was taken back elsewhere.
		if err = w.loadContent(ctx, r); err == nil {
			_, err = (&job{p, w, r}).overtaken(ctx)
		}
	case errors.Is(err, ErrNoRecord), err == nil && !o.owns(r.Nonce):
		// It was killed before it had claimed anything.
		return out, false, p.close(ctx, openPrefix+o.id)
	case err == nil:
		out, err = (&job{p, w, r}).resumeOwn(ctx)
		ok = err == nil
	}
	if errors.Is(err, ErrRecord) || errors.Is(err, client.ErrUnreadable) {
		// Nobody can finish it: this is said once.
		err = errors.Join(fmt.Errorf("%s: %w", o.id, err), p.close(ctx, openPrefix+o.id))
	}
	return out, ok, err
}

// resumeOwn goes on with a record of this machine. If it was killed after that was
// written and before the state had noted it, nobody waits for an answer any more.
func (k *job) resumeOwn(ctx context.Context) (Result, error) {
	if k.r.Status != Done && k.r.Status != Proposed {
		return k.resume(ctx)
	}
	_, err := k.p.kept(ctx, k.r.head.Plan)
	if errors.Is(err, ErrNoPlan) {
		return k.resume(ctx)
	}
	if err == nil {
		err = k.w.loadContent(ctx, k.r)
	}
	if err != nil {
		return Result{}, err
	}
	var ops []consolidation.Op
	if k.r.Status == Done {
		ops = k.r.content.Operations
	}
	if err := k.p.settle(ctx, k.r.content.Plan, ops); err != nil {
		return Result{}, err
	}
	return k.resume(ctx)
}

// resume goes on where a record is.
func (k *job) resume(ctx context.Context) (Result, error) {
	switch k.r.Status {
	case Writing:
		if err := k.dropped(ctx); err != nil {
			return Result{}, &OpenError{ID: k.r.id, Err: err}
		}
	case Open:
		if err := k.w.loadContent(ctx, k.r); err != nil {
			return Result{}, err
		}
		return k.carry(ctx)
	case Undoing:
		if err := k.w.loadContent(ctx, k.r); err != nil {
			return Result{}, err
		}
		undone, err := k.back(ctx)
		return Result{ID: k.r.id, Status: k.r.Status, Left: undone.Left, Behind: k.w.behind}, err
	}
	return k.r.result(k.w), k.p.close(ctx, openPrefix+k.r.id)
}
