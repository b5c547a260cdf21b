package mind

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
)

func mindPrepareCommand(env *cliutil.Env) *cobra.Command {
	var o plans.PrepareOptions
	var asJSON bool
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
		return prepare(ctx, env, consolidation.Consolidate, o, asJSON, "nothing waits to be consolidated")
	})
	c.Flags().IntVar(&o.MaxEpisodes, "episodes", 0, "show at most that `number` of episodes (default 20, which is the most)")
	c.Flags().IntVar(&o.MaxBytes, "max-bytes", 0, "length of the plan's text, a `number` (default 32768)")
	cliutil.JSONFlag(c, &asJSON)
	return c
}
