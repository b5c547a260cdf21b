package mind

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
)

func mindResumeCommand(env *cliutil.Env) *cobra.Command {
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
