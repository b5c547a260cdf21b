package plans

import (
	"context"
	"fmt"
	"slices"

	"engramd/internal/memory/consolidation"
)

// Review returns what a record says: each operation, and what it changes. Of a
// proposal it says whether it could be accepted now.
func (p *Plans) Review(ctx context.Context, id string) (Proposal, error) {
	w := &writer{memory: p.Memory}
	r, err := w.load(ctx, id)
	if err != nil {
		return Proposal{}, err
	}
	out := Proposal{Record: r.named(), Plan: r.content.Plan}
	for _, op := range r.content.Operations {
		out.Steps = append(out.Steps, Step{Op: op})
	}
	for _, ch := range r.content.Changes {
		out.Steps[ch.Op].Changes = append(out.Steps[ch.Op].Changes, ch)
	}
	if r.Status == Proposed {
		_, _, out.Err = p.check(ctx, w, r.content.Plan, r.content.Operations)
	}
	return out, nil
}

// Accept carries out a proposal: the operations of those indexes, all if there is no
// list. They are judged anew by what is there now, and errors are those of Commit;
// the proposal stays then. ErrStatus says that it is none, or not any more.
func (p *Plans) Accept(ctx context.Context, id string, which []int) (Result, error) {
	return locked(ctx, p, p.wait(), func(w *writer) (Result, error) {
		if err := p.resumeHere(ctx, func(o noted) bool { return o.id == id }); err != nil {
			return Result{}, err
		}
		r, err := w.proposal(ctx, id)
		if err == nil {
			err = w.loadContent(ctx, r)
		}
		if err != nil {
			return Result{}, err
		}
		ops, err := chosen(r.content.Operations, which)
		if err != nil {
			return Result{}, err
		}
		changes, old, err := p.check(ctx, w, r.content.Plan, ops)
		if err != nil {
			return Result{}, err
		}
		return (&job{p, w, r}).accept(ctx, content{Plan: r.content.Plan, Operations: ops, Changes: changes}, old)
	})
}

// Reject closes a proposal without carrying anything out.
func (p *Plans) Reject(ctx context.Context, id string) error {
	_, err := locked(ctx, p, p.wait(), func(w *writer) (*record, error) {
		r, err := w.proposal(ctx, id)
		if err != nil {
			return nil, err
		}
		next, now := r.head, p.now()
		next.Status, next.Closed = Rejected, &now
		return r, (&job{p, w, r}).turn(ctx, next)
	})
	return err
}

// proposal reads the head of a record that is a proposal.
func (w *writer) proposal(ctx context.Context, id string) (*record, error) {
	r, err := w.loadHead(ctx, id)
	if err == nil && r.Status != Proposed {
		err = fmt.Errorf("%w: %s is %s, and not a proposal", ErrStatus, r.id, r.Status)
	}
	return r, err
}

// chosen returns the operations of those indexes, in their order.
func chosen(ops []consolidation.Op, which []int) ([]consolidation.Op, error) {
	if which == nil {
		return ops, nil
	}
	var some []consolidation.Op
	for _, i := range which {
		if i < 0 || i >= len(ops) {
			return nil, fmt.Errorf("%w: there is no operation %d, but %d of them", ErrStatus, i+1, len(ops))
		}
	}
	for i, op := range ops {
		if slices.Contains(which, i) {
			some = append(some, op)
		}
	}
	return some, nil
}

// accept claims a proposal by its head, writes what is to be carried out behind the
// parts of the proposal, and carries it out.
func (k *job) accept(ctx context.Context, c content, old []string) (Result, error) {
	parts, err := split(c)
	if err != nil {
		return Result{}, err
	}
	next := k.r.head
	next.Before = &proposal{layout: k.r.layout, Ops: k.r.Ops, Old: k.r.Old}
	next.Status, next.Machine, next.Old, next.layout = Writing, k.p.machine(), old, laid(k.r.From+len(k.r.Parts), parts)
	if next.Ops, err = opsHash(c.Operations); err != nil {
		return Result{}, err
	}
	next.Nonce = nonce()
	if err := k.reclaim(ctx, next); err != nil {
		return Result{}, err
	}
	k.r.content = c
	if err := k.fill(ctx, parts, Open); err != nil {
		return Result{}, err
	}
	return k.carry(ctx)
}
