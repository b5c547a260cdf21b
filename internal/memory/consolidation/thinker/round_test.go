package thinker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/model"
)

// scripted is a Thinker that says what a test says.
type scripted func(ctx context.Context, plan string) ([]consolidation.Op, error)

func (s scripted) Think(ctx context.Context, plan string) ([]consolidation.Op, error) {
	return s(ctx, plan)
}

// TestRound: who thinks is asked if something waits, once, and what he says is
// applied; a failure applies nothing and names the plan.
func TestRound(t *testing.T) {
	errPrepare, errApply := errors.New("no relay"), errors.New("operation 1: no")
	waiting := consolidation.Plan{ID: "p-1", Kind: consolidation.Consolidate, Units: []consolidation.Shown{{Slug: "mem/a", Role: consolidation.Episode}}}
	for name, c := range map[string]struct {
		plan    consolidation.Plan
		prepare error
		ops     []consolidation.Op
		think   error
		apply   error
		want    error
		asked   bool
		applied bool
	}{
		"done":              {plan: waiting, ops: []consolidation.Op{{Op: "keep"}}, asked: true, applied: true},
		"a dream":           {plan: consolidation.Plan{ID: "p-1", Kind: consolidation.Dream, Units: []consolidation.Shown{{Role: consolidation.Drawn}}}, ops: []consolidation.Op{{Op: "write"}}, asked: true, applied: true},
		"an empty list":     {plan: waiting, asked: true, applied: true},
		"nothing waits":     {plan: consolidation.Plan{ID: "p-1", Kind: consolidation.Consolidate, Units: []consolidation.Shown{{Role: consolidation.NarrativeRole}, {Role: consolidation.Orphan}}}},
		"nothing to dream":  {plan: consolidation.Plan{ID: "p-1", Kind: consolidation.Dream, Units: []consolidation.Shown{{Role: consolidation.NarrativeRole}}}},
		"no plan":           {prepare: errPrepare, want: errPrepare},
		"the thinker fails": {plan: waiting, think: ErrFailed, want: ErrFailed, asked: true},
		"no answer":         {plan: waiting, think: ErrAnswer, want: ErrAnswer, asked: true},
		"refused":           {plan: waiting, ops: []consolidation.Op{{Op: "keep"}}, apply: errApply, want: errApply, asked: true, applied: true},
	} {
		t.Run(name, func(t *testing.T) {
			var asked, applied bool
			turn, err := Take(filepath.Join(t.TempDir(), "think.lock"))
			if err != nil {
				t.Fatal(err)
			}
			defer turn.Close()
			r := Round{
				Prepare: func(context.Context, consolidation.Kind) (consolidation.Plan, string, error) {
					return c.plan, "the text", c.prepare
				},
				Apply: func(_ context.Context, plan string, ops []consolidation.Op) error {
					applied = true
					if plan != c.plan.ID || len(ops) != len(c.ops) {
						t.Errorf("plan %s, %v", plan, ops)
					}
					return c.apply
				},
				Thinker: scripted(func(_ context.Context, plan string) ([]consolidation.Op, error) {
					asked = true
					if plan != "the text" {
						t.Errorf("it was given %q", plan)
					}
					return c.ops, c.think
				}),
				Turn: turn, PerDay: 1, Now: time.Now,
			}
			done, err := r.Run(t.Context(), c.plan.Kind)
			if !errors.Is(err, c.want) || err != nil && c.want == nil || asked != c.asked || done.Asked != c.asked || applied != c.applied || done.Plan.ID != c.plan.ID {
				t.Fatalf("%+v, %v; asked %v, applied %v", done, err, asked, applied)
			}
			if c.think != nil && !strings.Contains(err.Error(), "p-1") {
				t.Errorf("it does not name the plan: %v", err)
			}
			if _, err = r.Run(t.Context(), c.plan.Kind); c.asked && !errors.Is(err, ErrBudget) {
				t.Errorf("a second thought of the day: %v", err)
			}
		})
	}
}

// TestRepeat: failures are waited out, twice as long each time, and a server is
// not asked before it wants to be.
func TestRepeat(t *testing.T) {
	later := fmt.Errorf("%w: %w", ErrFailed, &model.Later{Status: 429, After: 30 * time.Hour})
	soon := fmt.Errorf("%w: %w", ErrFailed, &model.Later{Status: 503, After: time.Second})
	results := []error{nil, ErrFailed, ErrAnswer, nil, ErrBusy, ErrBusy, ErrBusy, ErrBusy, later, nil, soon}
	want := []int{4, 8, 16, 4, 8, 16, 24, 24, 30, 4}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var waits []int
	n := 0
	Repeat(ctx, 4*time.Hour, func(d time.Duration) <-chan time.Time {
		waits = append(waits, int(d/time.Hour))
		now := make(chan time.Time, 1)
		now <- time.Time{}
		return now
	}, func(context.Context) error {
		n++
		if n == len(results) {
			cancel()
		}
		return results[n-1]
	})
	if n != len(results) || !slices.Equal(waits, want) {
		t.Errorf("%d times, waits %v, want %v", n, waits, want)
	}
	ctx, cancel = context.WithCancel(t.Context())
	Repeat(ctx, 48*time.Hour, func(d time.Duration) <-chan time.Time {
		if d != 48*time.Hour {
			t.Errorf("a failure is waited out for %v", d)
		}
		cancel()
		return nil
	}, func(context.Context) error { return ErrFailed })
}
