// Package mind makes, reviews and applies plans that tidy the memory: engramctl mind and engramctl feedback.
package mind

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	agentview "engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/view"
	"engramd/internal/client"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
)

// New returns engramctl mind.
func New(env *cliutil.Env) *cobra.Command {
	return cliutil.PairFlags(env, cliutil.Group(&cobra.Command{
		Use:   "mind",
		Short: "Make knowledge of episodes, and dream",
		Long: `Make knowledge of episodes, and dream (docs/mind.md). prepare and dream show a plan:
memories, and the rules for what may become of them. Whoever thinks about it answers
with operations, which commit checks and carries out, all or none. What it wrote can be
taken back as one act, with undo.

No operation deletes, and none raises trust. A commit that was killed goes on with the
next of these commands on the same machine.`,
		Example: `  engramctl mind prepare > plan.md
  engramctl mind commit p-5f1b8e0c9a3d2e44 answer.json
  engramctl mind undo p-5f1b8e0c9a3d2e44`,
	},
		prepareCommand(env),
		commitCommand(env),
		dreamCommand(env),
		reviewCommand(env),
		resumeCommand(env),
		undoCommand(env),
		lsCommand(env),
		runCommand(env),
	))
}

// Thinking is what the commands of mind work with.
type Thinking struct {
	*plans.Plans
	S    *session.Session
	Copy *session.Copy
}

// WithPlans runs do with the plans of an agent, over the local copy that is caught up,
// and finishes before what was begun and not finished. An owner is told at once.
func WithPlans(ctx context.Context, env *cliutil.Env, do func(ctx context.Context, p Thinking) error) error {
	if err := mayPlan(env); err != nil {
		return err
	}
	return cliutil.WithCopy(ctx, env, 0, func(ctx context.Context, s *session.Session, l *session.Copy) error {
		if !s.Memory.Writable() {
			return client.ErrReadOnly
		}
		if _, err := view.ReportCopy(ctx, env, l); err != nil {
			return err
		}
		return s.WithPlans(ctx, l, func(p *plans.Plans) error {
			if err := resumeOpen(ctx, env, p); err != nil {
				return err
			}
			return do(ctx, Thinking{p, s, l})
		})
	})
}

// mayPlan fails where plans cannot be made, whatever relays say.
func mayPlan(env *cliutil.Env) error {
	s, err := env.Settings()
	switch {
	case err != nil:
		return err
	case s.Agent != "":
		return client.ErrReadOnly
	case env.Flags.NoMirror || s.NoMirror:
		return exit.Usagef("plans are kept on this machine until they are committed: not with --no-mirror")
	}
	return nil
}

// withRecords is withPlans for what only looks: owners may, and nothing is finished.
func withRecords(ctx context.Context, env *cliutil.Env, do func(ctx context.Context, p Thinking) error) error {
	return cliutil.WithCopy(ctx, env, 0, func(ctx context.Context, s *session.Session, l *session.Copy) error {
		if _, err := view.ReportCopy(ctx, env, l); err != nil {
			return err
		}
		return do(ctx, Thinking{&plans.Plans{Memory: s.Memory, Source: l.Confirmed()}, s, l})
	})
}

// resumeOpen finishes what this machine has begun, and says so. That it cannot be
// finished now stops nobody: it stays open.
func resumeOpen(ctx context.Context, env *cliutil.Env, p *plans.Plans) error {
	all, err := p.ResumeOpen(ctx)
	for _, r := range all {
		env.Note("%s had begun and is %s now%s", r.ID, r.Status, leftWords(r.Left))
	}
	if err != nil && ctx.Err() == nil {
		env.Note("a plan that has begun cannot be finished now: %v", err)
	}
	return ctx.Err()
}

// preparedOut is `mind prepare --json` and `mind dream --json`.
type preparedOut struct {
	Plan    string                `json:"plan"` // "" if there is nothing to think about
	Kind    consolidation.Kind    `json:"kind"`
	Seed    uint64                `json:"seed,omitempty"`
	Waiting int                   `json:"waiting"`
	AsOf    string                `json:"as_of,omitempty"`
	Stale   bool                  `json:"stale"`
	Units   []consolidation.Shown `json:"units"`
	Text    string                `json:"text"`
}

// prepare makes a plan and prints it; nothing is said where there is nothing to think
// about.
func prepare(ctx context.Context, env *cliutil.Env, kind consolidation.Kind, o plans.PrepareOptions, nothing string) error {
	return WithPlans(ctx, env, func(ctx context.Context, p Thinking) error {
		plan, text, err := p.Prepare(ctx, kind, o)
		if err != nil {
			return UnderstoodPlan(err)
		}
		if len(plan.Units) == 0 {
			plan.ID, text = "", ""
		}
		if env.Flags.JSON {
			return env.PrintJSON(preparedOut{Plan: plan.ID, Kind: kind, Seed: plan.Seed, Waiting: plan.Waiting, Stale: plan.Stale, Units: append([]consolidation.Shown{}, plan.Units...), Text: text, AsOf: agentview.When(plan.AsOf.UTC())})
		}
		if plan.ID == "" {
			env.Note("%s", nothing)
			return nil
		}
		if err := env.PrintText(text); err != nil {
			return err
		}
		env.Note("answer with: engramctl mind commit %s FILE", plan.ID)
		return nil
	})
}

// UnderstoodPlan makes usage errors of what is wrong with an answer or an id.
func UnderstoodPlan(err error) error {
	var op *consolidation.OpError
	switch {
	case errors.As(err, &op) && errors.Is(op, consolidation.ErrChanged):
		return op
	case errors.As(err, &op):
		return exit.BadUsage(op)
	case errors.Is(err, consolidation.ErrOps), errors.Is(err, plans.ErrID), errors.Is(err, plans.ErrTooLarge):
		return exit.BadUsage(err)
	}
	return err
}

func prepareCommand(env *cliutil.Env) *cobra.Command {
	var o plans.PrepareOptions
	c := env.Command(&cobra.Command{
		Use:   "prepare [--episodes N] [--max-bytes N] [--json]",
		Short: "Show what waits to be consolidated, as a plan",
		Long: `Show what waits to be consolidated, as a plan: its id, the rules for the answer, the
oldest episodes, and beside them what looks alike or contradicts, the narrative, and
what is stale or linked by nothing. Nothing is written to the memory. Lines of memories
begin with |, those that are somebody else's words with >.

The plan can be committed on this machine for 24 hours, as long as what it shows does
not change. If nothing waits, nothing is printed, and with --json the plan is empty.`,
		Example: `  engramctl mind prepare > plan.md
  engramctl mind prepare --json | jq -r .text`,
		Args: cliutil.Arguments(),
	}, func(ctx context.Context, _ []string) error {
		if o.MaxEpisodes < 0 || o.MaxEpisodes > consolidation.DefaultEpisodes {
			return exit.Usagef("--episodes: 1 to %d", consolidation.DefaultEpisodes)
		}
		if o.MaxBytes != 0 && (o.MaxBytes < consolidation.MinBytes || o.MaxBytes > consolidation.MaxBytes) {
			return exit.Usagef("--max-bytes: %d to %d", consolidation.MinBytes, consolidation.MaxBytes)
		}
		return prepare(ctx, env, consolidation.Consolidate, o, "nothing waits to be consolidated")
	})
	c.Flags().IntVar(&o.MaxEpisodes, "episodes", 0, "show at most that `number` of episodes (default 20, which is the most)")
	c.Flags().IntVar(&o.MaxBytes, "max-bytes", 0, "length of the plan's text, a `number` (default 32768)")
	return c
}

func dreamCommand(env *cliutil.Env) *cobra.Command {
	var o plans.PrepareOptions
	c := env.Command(&cobra.Command{
		Use:   "dream [--seed N] [--json]",
		Short: "Draw memories at random, as a plan for insights",
		Long: `Draw five memories at random, as a plan whose answer may be insights: what connects
them that nobody has noticed. What is salient is drawn sooner, and what earlier dreams
had later. The plan shows the seed of the draw. Nothing is written to the memory.

It is answered as mind prepare's are, with mind commit, which refuses an insight that
says nearly what is known. Exit code 1 if there are too few memories to dream of.`,
		Example: `  engramctl mind dream`,
		Args:    cliutil.Arguments(),
	}, func(ctx context.Context, _ []string) error {
		return prepare(ctx, env, consolidation.Dream, o, "there is nothing to dream of")
	})
	c.Flags().Uint64Var(&o.Seed, "seed", 0, "draw with this `number`: the same one draws the same of the same memory (default: a new one)")
	return c
}
