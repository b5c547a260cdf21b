package mind

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"engramd/internal/agent/mcp"
	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/nips/nipae"
)

// feedbackOut is `feedback --json`.
type feedbackOut struct {
	Verdict string   `json:"verdict"`
	Slugs   []string `json:"slugs"`
	Budget  int      `json:"budget"` // of tokens, by now
}

// NewFeedback returns engramctl feedback.
func NewFeedback(env *cliutil.Env) *cobra.Command {
	var asJSON bool
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
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
	}, func(ctx context.Context, args []string) error { return runFeedback(ctx, env, asJSON, args) }))
	cliutil.JSONFlag(c, &asJSON)
	return c
}

// runFeedback counts that memories were useful, or wrong.
func runFeedback(ctx context.Context, env *cliutil.Env, asJSON bool, args []string) error {
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
	return cliutil.WithOwnMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
		state, err := m.Session().OpenState(ctx, env.NoteLine)
		if err != nil {
			return err
		}
		defer func() { _ = state.Close() }() // each of its writes is kept already
		budget, err := m.Session().Judge(ctx, state, args[0] == "useful", slugs)
		if err != nil {
			return err
		}
		out := feedbackOut{Verdict: args[0], Budget: budget}
		for _, slug := range slugs {
			out.Slugs = append(out.Slugs, string(slug))
		}
		if asJSON {
			return env.PrintJSON(out)
		}
		return env.Print("%s called %s; the budget is %d tokens\n", cliutil.Counted(len(slugs), "memory", "memories"), args[0], budget)
	})
}
