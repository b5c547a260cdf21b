package mcp

import (
	"context"
	"strings"

	"engramd/internal/memory/consolidation/plans"
	"engramd/nips/nipae"
)

type undoIn struct {
	Plan  string `json:"plan" jsonschema:"id that mind_commit answered with"`
	Force bool   `json:"force,omitempty" jsonschema:"though some were changed since: the rest"`
}

type undoOut struct {
	Plan string    `json:"plan"`
	Back []string  `json:"back" jsonschema:"memories that are as they were before"`
	Left []leftOut `json:"left,omitempty" jsonschema:"what was changed since, and stays"`
	answer
}

const describeUndo = `Take back all that a plan wrote, as one act. If something was changed since, it says what, and changes nothing without force.`

func (s *mindTools) mindUndo(ctx context.Context, in undoIn) (undoOut, error) {
	r, err := unbroken(ctx, s.m.calls, s.m.calls.memory, plansLock, func(ctx context.Context) (plans.Undone, error) {
		return s.plans(ctx).Undo(ctx, strings.TrimSpace(in.Plan), in.Force)
	})
	if err != nil {
		return undoOut{}, mindFailure(err)
	}
	out := undoOut{Plan: r.ID, Back: append([]string{}, r.Back...), Left: leftOf(r.Left), answer: behind(r.Behind)}
	var slugs []nipae.Slug
	for _, slug := range r.Back {
		slugs = append(slugs, nipae.Slug(slug))
	}
	if len(slugs) > 0 {
		s.m.calls.changed(ctx, slugs...)
	}
	return out, nil
}
