package mind

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
)

func mindDreamCommand(env *cliutil.Env) *cobra.Command {
	var o plans.PrepareOptions
	var asJSON bool
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
		return prepare(ctx, env, consolidation.Dream, o, asJSON, "there is nothing to dream of")
	})
	c.Flags().Uint64Var(&o.Seed, "seed", 0, "draw with this `number`: the same one draws the same of the same memory (default: a new one)")
	cliutil.JSONFlag(c, &asJSON)
	return c
}
