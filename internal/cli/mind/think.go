package mind

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/mcp"
	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/view"
	"engramd/internal/memory/consolidation/thinker"
	memorymodel "engramd/internal/memory/model"
	"engramd/nips/nipae"
)

// defaultRuns is how often thinkers are asked in a day.
const defaultRuns = 24

// thinkFlags name who thinks, who is asked only if he is named.
type thinkFlags struct {
	exec, url, model string
	plaintext        bool
	limit            time.Duration
	runs             int
}

func (f *thinkFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.exec, "exec", "", "a `COMMAND` of the shell that thinks: the plan on stdin, operations on stdout (mind_exec in a profile)")
	c.Flags().StringVar(&f.url, "llm-url", "", "`URL` of a model server that thinks (llm_url in a profile); its key is in ENGRAM_LLM_KEY or in the file that ENGRAM_LLM_KEY_FILE names")
	c.Flags().StringVar(&f.model, "llm-model", "", "`name` of its model (llm_model in a profile)")
	c.Flags().BoolVar(&f.plaintext, "send-plaintext", false, "the model server may be on another machine, by https: it reads memories as plain text")
	c.Flags().DurationVar(&f.limit, "limit", thinker.DefaultLimit, "time limit of one thought")
	c.Flags().IntVar(&f.runs, "runs", defaultRuns, "at most `N` thoughts in a day (UTC), of all on this machine")
	c.MarkFlagsMutuallyExclusive("exec", "llm-url")
}

// ThinkLock is the file of the turn to think: one for a user's states.
func ThinkLock(env *cliutil.Env) string {
	return filepath.Join(cliutil.StateFolder(env), "think.lock")
}

// openThinker returns who is named: by the command line, or else by the profile.
func openThinker(env *cliutil.Env, f thinkFlags) (thinker.Thinker, error) {
	switch {
	case f.limit <= 0:
		return nil, exit.Usagef("--limit must be more than 0")
	case f.runs <= 0:
		return nil, exit.Usagef("--runs must be more than 0")
	}
	p, err := env.Profile()
	if err != nil {
		return nil, exit.BadUsage(err)
	}
	command, url := f.exec, f.url
	if command == "" && url == "" {
		if command, url = p.MindExec, p.LLMURL; command != "" && url != "" {
			return nil, exit.Usagef("%s has mind_exec and llm_url: say which with --exec or --llm-url", p.Name)
		}
	}
	switch {
	case command != "":
		return &thinker.Child{Command: command, Env: env.System.Env, Lock: ThinkLock(env), Temp: env.Vars["TMPDIR"], Limit: f.limit}, nil
	case url != "":
		o := memorymodel.Options{URL: url, Model: cmp.Or(f.model, p.LLMModel), SendPlaintext: f.plaintext, Timeout: f.limit}
		return view.OpenModel(env, "llm", o, thinker.NewServer)
	}
	return nil, exit.Usagef("who thinks? --exec names a program, --llm-url a model server (mind_exec, llm_url in a profile); the agent itself does with engramctl mind prepare and commit")
}

// feedbackOut is `feedback --json`.
type feedbackOut struct {
	Verdict string   `json:"verdict"`
	Slugs   []string `json:"slugs"`
	Budget  int      `json:"budget"` // of tokens, by now
}

// NewFeedback returns engramctl feedback.
func NewFeedback(env *cliutil.Env) *cobra.Command {
	return cliutil.PairFlags(env, env.Command(&cobra.Command{
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
			return env.Show(out, "%s called %s; the budget is %d tokens\n", cliutil.Counted(len(slugs), "memory", "memories"), args[0], budget)
		})
	}))
}
