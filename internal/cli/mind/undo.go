package mind

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/memory/consolidation/plans"
	"engramd/nips/frontmatter"
)

func resumeCommand(env *cliutil.Env) *cobra.Command {
	var asJSON bool
	c := env.Command(&cobra.Command{
		Use:   "resume PLAN [--json]",
		Short: "Finish a plan that was begun and not finished",
		Long: `Finish a plan that was begun and not finished, here or on another machine (mind ls has
it as open or undoing). The machine that has begun it does so by itself; this is for one
that will not come back. One that is finished stays as it is.

What was changed meanwhile is left and named (exit code 5). Exit code 1 if there is no
record of such a plan.`,
		Example: `  engramctl mind resume p-5f1b8e0c9a3d2e44`,
		Args:    cliutil.Arguments("PLAN"),
	}, func(ctx context.Context, args []string) error {
		return WithPlans(ctx, env, func(ctx context.Context, p Thinking) error {
			r, err := p.Resume(ctx, args[0])
			if err != nil {
				return UnderstoodPlan(err)
			}
			return PrintCommitted(env, r, asJSON)
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	return c
}

// undoneOut is `mind undo --json`.
type undoneOut struct {
	Plan   string       `json:"plan"`
	Back   []string     `json:"back"`
	Left   []plans.Left `json:"left,omitempty"`
	Behind []string     `json:"behind,omitempty"` // relays that did not take all of it
}

func undoCommand(env *cliutil.Env) *cobra.Command {
	var force, asJSON bool
	c := env.Command(&cobra.Command{
		Use:   "undo PLAN [--force] [--json]",
		Short: "Take back all that a plan wrote",
		Long: `Take back all that a plan wrote, as one act, from any machine: every memory is as it
was, byte for byte, and what the plan added is removed. The plan's record has the texts,
so this works for 90 days, whatever relays still keep.

If something was changed since, nothing is written: it is named (exit code 5). With
--force the rest is brought back, and what was changed stays. Exit code 1 if there is no
record of such a plan.`,
		Example: `  engramctl mind undo p-5f1b8e0c9a3d2e44`,
		Args:    cliutil.Arguments("PLAN"),
	}, func(ctx context.Context, args []string) error {
		return WithPlans(ctx, env, func(ctx context.Context, p Thinking) error {
			r, err := p.Undo(ctx, args[0], force)
			if err != nil {
				return UnderstoodPlan(err)
			}
			return printUndone(env, r, asJSON)
		})
	})
	c.Flags().BoolVar(&force, "force", false, "bring back what was not changed since, and leave the rest")
	cliutil.JSONFlag(c, &asJSON)
	return c
}

func printUndone(env *cliutil.Env, r plans.Undone, asJSON bool) error {
	for _, url := range r.Behind {
		env.Note("%s did not take all of it; engramctl sync brings it up to date", url)
	}
	if asJSON {
		return env.PrintJSON(undoneOut{Plan: r.ID, Back: append([]string{}, r.Back...), Left: r.Left, Behind: r.Behind})
	}
	for _, slug := range r.Back {
		if err := env.Print("back  %s\n", slug); err != nil {
			return err
		}
	}
	for _, l := range r.Left {
		if err := env.Print("left  %s: %s\n", l.Slug, cliutil.Harmless(frontmatter.OneLine(l.Why))); err != nil {
			return err
		}
	}
	return nil
}
