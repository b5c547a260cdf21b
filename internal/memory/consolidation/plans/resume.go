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
	err = p.locked(ctx, 0, func() error {
		open, err := p.opened(ctx, "")
		if err != nil {
			return err
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
		return errors.Join(errs...)
	})
	if errors.Is(err, ErrBusy) {
		return nil, nil
	}
	return all, err
}

// Resume finishes a record that was begun here or elsewhere. One that is finished
// stays as it is.
func (p *Plans) Resume(ctx context.Context, id string) (out Result, err error) {
	err = p.locked(ctx, p.wait(), func() error {
		w := &writer{memory: p.Memory}
		r, err := p.loadHead(ctx, w, id)
		if err == nil {
			out, err = p.resume(ctx, w, r)
		}
		return err
	})
	return out, err
}

// resumePlan finishes what was begun here of one plan.
func (p *Plans) resumePlan(ctx context.Context, id string) error {
	open, err := p.opened(ctx, id)
	if err != nil {
		return err
	}
	for _, o := range open {
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

// opened returns what the state has open, of one plan or ("") of all.
func (p *Plans) opened(ctx context.Context, plan string) (all []noted, err error) {
	kept, err := p.Open.All(ctx)
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
		if plan == "" || n.Plan == plan {
			all = append(all, n)
		}
	}
	return all, nil
}

// resumeNoted finishes a record that the state has open. ok says that there was
// something to finish.
func (p *Plans) resumeNoted(ctx context.Context, o noted) (out Result, ok bool, err error) {
	w := &writer{memory: p.Memory}
	r, err := p.loadHead(ctx, w, o.id)
	switch {
	case err == nil && !o.owns(r.Nonce) && o.owns(r.Was) && (r.Status == Undoing || r.Status == TakenBack):
		// It was killed while it was taken back elsewhere.
		if err = p.loadContent(ctx, w, r); err == nil {
			_, err = p.overtaken(ctx, w, r)
		}
	case errors.Is(err, ErrNoRecord), err == nil && !o.owns(r.Nonce):
		// It was killed before it had claimed anything.
		return out, false, p.close(ctx, openPrefix+o.id)
	case err == nil:
		out, err = p.resumeOwn(ctx, w, r)
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
func (p *Plans) resumeOwn(ctx context.Context, w *writer, r *record) (Result, error) {
	if r.Status != Done && r.Status != Proposed {
		return p.resume(ctx, w, r)
	}
	_, err := p.kept(ctx, r.head.Plan)
	if errors.Is(err, ErrNoPlan) {
		return p.resume(ctx, w, r)
	}
	if err == nil {
		err = p.loadContent(ctx, w, r)
	}
	if err != nil {
		return Result{}, err
	}
	var ops []consolidation.Op
	if r.Status == Done {
		ops = r.content.Operations
	}
	if err := p.settle(ctx, r.content.Plan, ops); err != nil {
		return Result{}, err
	}
	return p.resume(ctx, w, r)
}

// resume goes on where a record is.
func (p *Plans) resume(ctx context.Context, w *writer, r *record) (Result, error) {
	switch r.Status {
	case Writing:
		if err := p.dropped(ctx, w, r); err != nil {
			return Result{}, &OpenError{ID: r.id, Err: err}
		}
	case Open:
		if err := p.loadContent(ctx, w, r); err != nil {
			return Result{}, err
		}
		return p.carry(ctx, w, r)
	case Undoing:
		if err := p.loadContent(ctx, w, r); err != nil {
			return Result{}, err
		}
		undone, err := p.back(ctx, w, r)
		return Result{ID: r.id, Status: r.Status, Left: undone.Left, Behind: w.behind}, err
	}
	return r.result(w), p.close(ctx, openPrefix+r.id)
}
