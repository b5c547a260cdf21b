package thinker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/model"
)

// Round is one plan, thought over by somebody else than the agent: prepared,
// judged, and carried out or laid before the owner. It checks nothing: Apply does.
type Round struct {
	Prepare func(context.Context, consolidation.Kind) (p consolidation.Plan, text string, err error)
	Apply   func(ctx context.Context, plan string, ops []consolidation.Op) error
	Thinker Thinker
	Turn    *Turn
	PerDay  int // see Turn.Spend
	Now     func() time.Time
}

// Done is what became of a round.
type Done struct {
	Plan  consolidation.Plan
	Asked bool // the thinker; not, if nothing waits
	Ops   int  // that it wants; none is a right answer
}

// Run makes a plan of a kind happen. Whatever fails before Apply has changed
// nothing, and the plan stays what it is: Done names it. Errors are ErrBudget,
// those of the thinker, and those of Prepare and Apply.
func (r Round) Run(ctx context.Context, kind consolidation.Kind) (done Done, err error) {
	plan, text, err := r.Prepare(ctx, kind)
	if done.Plan = plan; err != nil || !waits(plan) {
		return done, err
	}
	if err := r.Turn.Spend(r.Now(), r.PerDay); err != nil {
		return done, err
	}
	done.Asked = true
	ops, err := r.Thinker.Think(ctx, text)
	if err != nil {
		return done, fmt.Errorf("plan %s is as it was: %w", plan.ID, err)
	}
	done.Ops = len(ops)
	return done, r.Apply(ctx, plan.ID, ops)
}

// waits reports whether there is something to think about: units that only stand
// beside are nothing.
func waits(p consolidation.Plan) bool {
	want := consolidation.Episode
	switch p.Kind {
	case consolidation.Dream:
		want = consolidation.Drawn
	case consolidation.Archive:
		want = consolidation.Stale
	}
	return slices.ContainsFunc(p.Units, func(u consolidation.Shown) bool { return u.Role == want })
}

// longestWait bounds what failures make of a wait.
const longestWait = 24 * time.Hour

// Repeat does something now and every so often, until the context ends. After a
// failure it waits twice as long as before, up to a day, and as long as a server
// asks for; never less than every.
func Repeat(ctx context.Context, every time.Duration, after func(time.Duration) <-chan time.Time, do func(context.Context) error) {
	wait := every
	for {
		err := do(ctx)
		if ctx.Err() != nil {
			return
		}
		var later *model.Later
		switch {
		case err == nil:
			wait = every
		case errors.As(err, &later):
			wait = max(min(2*wait, longestWait), later.After, every)
		default:
			wait = max(min(2*wait, longestWait), every)
		}
		select {
		case <-after(wait):
		case <-ctx.Done():
			return
		}
	}
}
