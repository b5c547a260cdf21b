package mind

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	agentview "engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
	"engramd/internal/snapshot"
	"engramd/nips/frontmatter"
)

// reviewOut is `mind review --json`.
type reviewOut struct {
	recordOut
	Obstacle   string      `json:"obstacle,omitempty"` // why it could not be accepted as a whole now
	Operations []reviewOne `json:"operations"`
}

type reviewOne struct {
	Operation int              `json:"operation"` // counted from 1
	Op        consolidation.Op `json:"op"`
	Changes   []reviewDiff     `json:"changes"`
}

type reviewDiff struct {
	Slug string `json:"slug"`
	What string `json:"what"`
	Note string `json:"note,omitempty"`
	Diff string `json:"diff"` // unified, without file names
}

func reviewCommand(env *cliutil.Env) *cobra.Command {
	var accept string
	var c *cobra.Command
	c = env.Command(&cobra.Command{
		Use:   "review PLAN [--accept all|none|1,3] [--json]",
		Short: "Show what a plan changes, and accept what was proposed",
		Long: `Show what a plan changes: each operation with its number, and the memories that it
writes, old and new, as diff -u has it. Of a proposal it says too whether it could be
accepted now. The agent's owner can look as well.

--accept carries a proposal out: all of its operations, those with the numbers that are
named, or none, which closes it. They are checked anew by what is there now; if that
fails, the proposal stays (exit codes as of mind commit). Exit code 1 if there is no
such plan.`,
		Example: `  engramctl mind review p-5f1b8e0c9a3d2e44
  engramctl mind review p-5f1b8e0c9a3d2e44 --accept 1,3`,
	}, func(ctx context.Context, args []string) error {
		if !c.Flags().Changed("accept") {
			return withRecords(ctx, env, func(ctx context.Context, p Thinking) error {
				r, err := p.Review(ctx, args[0])
				if err != nil {
					return UnderstoodPlan(err)
				}
				return printReview(env, r)
			})
		}
		which, err := numbers(accept)
		if err != nil {
			return err
		}
		return WithPlans(ctx, env, func(ctx context.Context, p Thinking) error { return acceptPlan(ctx, env, p, args[0], which) })
	})
	c.Flags().StringVar(&accept, "accept", "", "`WHICH` operations to carry out: all, none, or their numbers: 1,3")
	_ = c.RegisterFlagCompletionFunc("accept", cobra.FixedCompletions([]string{"all", "none"}, cobra.ShellCompDirectiveNoFileComp)) // cannot fail: the flag exists
	return c
}

// numbers reads --accept: nil is all, and a list without any is none.
func numbers(text string) ([]int, error) {
	switch text {
	case "all":
		return nil, nil
	case "none":
		return []int{}, nil
	}
	var all []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > consolidation.MaxOps {
			return nil, exit.Usagef("--accept: %q is neither all, none nor numbers of operations such as 1,3", text)
		}
		all = append(all, n-1)
	}
	return all, nil
}

// acceptPlan carries out those operations of a proposal, or closes it.
func acceptPlan(ctx context.Context, env *cliutil.Env, p Thinking, id string, which []int) error {
	if which != nil && len(which) == 0 {
		if err := p.Reject(ctx, id); err != nil {
			return UnderstoodPlan(err)
		}
		return env.Show(CommittedOut{Plan: id, Status: plans.Rejected, Changes: []agentview.Change{}}, "%s  %s\n", id, plans.Rejected)
	}
	if len(which) > 0 {
		r, err := p.Review(ctx, id)
		if err != nil {
			return UnderstoodPlan(err)
		}
		if most := slices.Max(which) + 1; most > len(r.Steps) {
			return exit.Usagef("--accept: there is no operation %d, but %d of them", most, len(r.Steps))
		}
	}
	r, err := p.Accept(ctx, id, which)
	if err != nil {
		return UnderstoodPlan(err)
	}
	return PrintCommitted(env, r)
}

func printReview(env *cliutil.Env, p plans.Proposal) error {
	out := reviewOut{recordOut: recordOutOf(p.Record), Obstacle: cliutil.ErrorText(p.Err), Operations: []reviewOne{}}
	for i, s := range p.Steps {
		one := reviewOne{Operation: i + 1, Op: s.Op, Changes: []reviewDiff{}}
		for _, c := range s.Changes {
			one.Changes = append(one.Changes, reviewDiff{Slug: c.Slug, What: c.What(), Note: c.Note, Diff: snapshot.Unified(c.Old, c.New)})
		}
		out.Operations = append(out.Operations, one)
	}
	if env.Flags.JSON {
		return env.PrintJSON(out)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s  %s\n", p.ID, p.Kind, p.Status, p.Began.UTC().Format(time.RFC3339))
	for _, l := range p.Left {
		fmt.Fprintf(&b, "left  %s: %s\n", l.Slug, frontmatter.OneLine(l.Why))
	}
	for _, one := range out.Operations {
		fmt.Fprintf(&b, "\n%d  %s\n", one.Operation, summary(one.Op))
		for _, c := range one.Changes {
			fmt.Fprintf(&b, "--- %s\n+++ %s  %s\n%s", c.Slug, c.Slug, c.What, c.Diff)
			if c.Note != "" {
				fmt.Fprintf(&b, "(%s)\n", frontmatter.OneLine(c.Note))
			}
		}
	}
	if err := env.PrintText(b.String()); err != nil {
		return err
	}
	switch {
	case p.Err != nil:
		env.Note("it could not be accepted as a whole now: %v", p.Err)
	case p.Status == plans.Proposed:
		env.Note("accept it: engramctl mind review %s --accept all (or none, or numbers such as 1,3)", p.ID)
	}
	return nil
}

// summary is an operation on one line, without the texts that its changes show.
func summary(op consolidation.Op) string {
	op.Text = ""
	text, err := json.Marshal(op)
	if err != nil {
		return op.Op
	}
	return frontmatter.OneLine(string(text))
}
