package mind

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
	"engramd/nips/frontmatter"
)

// recordOut is what is known of a recorded plan, in JSON.
type recordOut struct {
	Plan    string             `json:"plan"`
	Of      string             `json:"of,omitempty"` // the plan that was shown
	Kind    consolidation.Kind `json:"kind,omitempty"`
	Status  plans.Status       `json:"status,omitempty"`
	Machine string             `json:"machine,omitempty"`
	Began   string             `json:"began,omitempty"`
	Closed  string             `json:"closed,omitempty"`
	Changes int                `json:"changes"`
	Left    []plans.Left       `json:"left,omitempty"`
	Error   string             `json:"error,omitempty"` // it cannot be read
}

func recordOutOf(r plans.Record) recordOut {
	return recordOut{Plan: r.ID, Of: r.Plan, Kind: r.Kind, Status: r.Status, Machine: r.Machine, Changes: r.Changes, Left: r.Left, Error: cliutil.ErrorText(r.Err),
		Began: view.When(r.Began.UTC()), Closed: view.When(r.Closed.UTC())}
}

func lsCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "ls [--json]",
		Short: "List the plans that were carried out or proposed",
		Long: `List the plans that were carried out or proposed, the newest first: id, kind, status,
when it began, how many memories it changes, and the machine that it was begun on. The
status is proposed (it waits for mind review), open or undoing (not finished), done,
undone, rejected, or dropped (killed before anything was changed). Records go 90 days
after they were closed. The agent's owner can look as well.`,
		Example: `  engramctl mind ls
  engramctl mind ls --json | jq -r '.[] | select(.status == "proposed") | .plan'`,
		Args: cliutil.Arguments(),
	}, func(ctx context.Context, _ []string) error {
		return withRecords(ctx, env, func(ctx context.Context, p Thinking) error {
			all, err := p.List(ctx)
			if err != nil {
				return err
			}
			return printRecords(env, all)
		})
	})
}

func printRecords(env *cliutil.Env, all []plans.Record) error {
	out := make([]recordOut, 0, len(all))
	for _, r := range all {
		out = append(out, recordOutOf(r))
	}
	if env.Flags.JSON {
		return env.PrintJSON(out)
	}
	if len(out) == 0 {
		env.Note("no plan was carried out or proposed")
	}
	return cliutil.Each(env, out, func(r recordOut) string {
		return fmt.Sprintf("%-21s  %-11s  %-8s  %-20s  %s  %s", r.Plan, r.Kind, cmp.Or(string(r.Status), "damaged"), r.Began,
			cliutil.Counted(r.Changes, "memory", "memories"), cliutil.Harmless(r.Machine))
	})
}

func resumeCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "resume PLAN [--json]",
		Short: "Finish a plan that was begun and not finished",
		Long: `Finish a plan that was begun and not finished, here or on another machine (mind ls has
it as open or undoing). The machine that has begun it does so by itself; this is for one
that will not come back. One that is finished stays as it is.

What was changed meanwhile is left and named (exit code 5). Exit code 1 if there is no
record of such a plan.`,
		Example: `  engramctl mind resume p-5f1b8e0c9a3d2e44`,
	}, func(ctx context.Context, args []string) error {
		return WithPlans(ctx, env, func(ctx context.Context, p Thinking) error {
			r, err := p.Resume(ctx, args[0])
			if err != nil {
				return UnderstoodPlan(err)
			}
			return PrintCommitted(env, r)
		})
	})
}

// undoneOut is `mind undo --json`.
type undoneOut struct {
	Plan   string       `json:"plan"`
	Back   []string     `json:"back"`
	Left   []plans.Left `json:"left,omitempty"`
	Behind []string     `json:"behind,omitempty"` // relays that did not take all of it
}

func undoCommand(env *cliutil.Env) *cobra.Command {
	var force bool
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
	}, func(ctx context.Context, args []string) error {
		return WithPlans(ctx, env, func(ctx context.Context, p Thinking) error {
			r, err := p.Undo(ctx, args[0], force)
			if err != nil {
				return UnderstoodPlan(err)
			}
			return printUndone(env, r)
		})
	})
	c.Flags().BoolVar(&force, "force", false, "bring back what was not changed since, and leave the rest")
	return c
}

func printUndone(env *cliutil.Env, r plans.Undone) error {
	for _, url := range r.Behind {
		env.Note("%s did not take all of it; engramctl sync brings it up to date", url)
	}
	if env.Flags.JSON {
		return env.PrintJSON(undoneOut{Plan: r.ID, Back: append([]string{}, r.Back...), Left: r.Left, Behind: r.Behind})
	}
	if err := cliutil.Each(env, r.Back, func(slug string) string { return "back  " + slug }); err != nil {
		return err
	}
	return cliutil.Each(env, r.Left, func(l plans.Left) string {
		return "left  " + l.Slug + ": " + cliutil.Harmless(frontmatter.OneLine(l.Why))
	})
}
