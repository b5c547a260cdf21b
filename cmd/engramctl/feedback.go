package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"engramd/internal/agent/mcp"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/memory/activity"
	memorystate "engramd/internal/memory/state"
	"engramd/nips/nipae"
)

// feedbackOut is `feedback --json`.
type feedbackOut struct {
	Verdict string   `json:"verdict"`
	Slugs   []string `json:"slugs"`
	Budget  int      `json:"budget"` // of tokens, by now
}

func (a *app) feedbackCommand() *cobra.Command {
	var asJSON bool
	c := cliutil.PairFlags(a.Env, a.Command(&cobra.Command{
		Use:   "feedback useful|wrong SLUG... [--json]",
		Short: "Say that memories were useful, or wrong",
		Long: `Say that memories were useful, or wrong: that makes them more, or less, likely to come
unasked into a context, and to be archived last, or first (docs/mind.md). What was useful
adds 50,000 tokens to the budget above which archiving is proposed, once for a memory and
day and ten times at most.

It is kept on this machine, in the agent's state. No text is changed: correct what is
wrong with mem set, or supersede it.`,
		Example: `  engramctl feedback useful projects/atlas/database people/ana
  engramctl feedback wrong projects/atlas/old-plan`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1+mcp.MaxJudged {
				return fmt.Errorf("%d memories at once are the most", mcp.MaxJudged)
			}
			return cliutil.Arguments("useful|wrong", "SLUG")(nil, args[:min(len(args), 2)])
		},
	}, func(ctx context.Context, args []string) error {
		if args[0] != "useful" && args[0] != "wrong" {
			return exit.Usagef("%q is neither useful nor wrong", args[0])
		}
		var slugs []nipae.Slug
		for _, arg := range args[1:] {
			slug, err := cliutil.OwnSlug(arg)
			if err != nil {
				return err
			}
			if !slices.Contains(slugs, slug) {
				slugs = append(slugs, slug)
			}
		}
		return a.withOwnMemory(ctx, func(ctx context.Context, m *client.Memory) error {
			state, err := a.openState(ctx, m, a.NoteLine)
			if err != nil {
				return err
			}
			defer func() { _ = state.Close() }() // each of its writes is kept already
			budget, err := a.judge(ctx, m, state, args[0] == "useful", slugs)
			if err != nil {
				return err
			}
			out := feedbackOut{Verdict: args[0], Budget: budget}
			for _, slug := range slugs {
				out.Slugs = append(out.Slugs, string(slug))
			}
			if asJSON {
				return a.PrintJSON(out)
			}
			return a.Print("%s called %s; the budget is %d tokens\n", cliutil.Counted(len(slugs), "memory", "memories"), args[0], budget)
		})
	}))
	cliutil.JSONFlag(c, &asJSON)
	return c
}

// judge notes a judgement on memories that exist, all or none, and returns the
// budget of tokens by then. Nothing is written to the memory.
func (a *app) judge(ctx context.Context, m *client.Memory, state *memorystate.State, useful bool, slugs []nipae.Slug) (budget int, err error) {
	names := make([]string, len(slugs))
	for i, slug := range slugs {
		if _, _, err := m.Get(ctx, slug); err != nil {
			return 0, &mcp.JudgeError{Slug: slug, Err: err}
		}
		names[i] = string(slug)
	}
	if err := state.Feedback.Judge(ctx, useful, names...); err != nil {
		return 0, err
	}
	_, earned, err := state.Feedback.All(ctx)
	return activity.Budget(0, earned), err
}
