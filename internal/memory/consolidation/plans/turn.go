package plans

import (
	"context"
	"time"

	"engramd/internal/memory/consolidation"
	memorystate "engramd/internal/memory/state"
)

const (
	// patience is how long a plan may wait for its answer until the other side has its
	// turn: who thinks may fail on somebody else's words each time.
	patience = 10 * time.Minute
	// answered is noted beside whose turn it is.
	answered = "answered"
)

// turn returns whose words the last plan was about, "" if that is not known, and whether
// that turn is over.
func (p *Plans) turn(ctx context.Context) (last consolidation.Whose, over bool, err error) {
	turns, err := p.Tallies.Of(ctx, memorystate.Sides)
	for _, side := range []consolidation.Whose{consolidation.Own, consolidation.Others} {
		if t, ok := turns[string(side)]; ok {
			_, done := turns[answered]
			return side, done || p.now().Sub(t.Last).Abs() >= patience, err
		}
	}
	return "", true, err
}

// turned notes that a plan was made. The same turn, which is not over, began before.
func (p *Plans) turned(ctx context.Context, plan consolidation.Plan) error {
	last, over, err := p.turn(ctx)
	if err != nil || last == plan.Whose() && !over {
		return err
	}
	return p.hadTurn(ctx, plan.Whose())
}

// hadTurn notes whose turn it is.
func (p *Plans) hadTurn(ctx context.Context, side consolidation.Whose, also ...string) error {
	if err := p.Tallies.Forget(ctx, memorystate.Sides, string(side), string(side.Other()), answered); err != nil {
		return err
	}
	return p.Tallies.Add(ctx, memorystate.Sides, append(also, string(side))...)
}
