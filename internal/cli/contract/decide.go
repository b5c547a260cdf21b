package contract

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client/contract"
	"engramd/nips/niptemp"
)

func newDecide(env *cliutil.Env) *cobra.Command {
	var o moveOptions
	c := env.Command(&cobra.Command{
		Use:   "decide ID completed|cancelled [--note TEXT] [--json]",
		Short: "End a dispute, as its arbitrator or decider",
		Long: `End a dispute of others. The arbitrator and the decider whom both parties have agreed on
sign the decision with their own key, and every relay and everybody who has the thread
can check it. The operator of the relay that is the decider asks it to sign. A decision
that nobody agreed on is the operator's alone: it holds on that relay only, and no event
says it.

Exit code 5 if the contract is not in dispute, or somebody else was faster; 3 if it is not
this key's to decide.`,
		Example: `  engramctl contract decide ID completed --note "Delivered as agreed"`,
		Args:    cliutil.Arguments("ID", "STATUS"),
	}, func(ctx context.Context, args []string) error { return runDecide(ctx, env, o, args) })
	o.flags(env, c)
	return c
}

func runDecide(ctx context.Context, env *cliutil.Env, o moveOptions, args []string) error {
	if status := niptemp.Status(args[1]); status != niptemp.Completed && status != niptemp.Cancelled {
		return exit.Usagef("STATUS: a dispute ends completed or cancelled, not %q", args[1])
	}
	return moveContract(ctx, env, o, args, (*contract.Contracts).Decide)
}

// onlyThere says of a contract that no event says how it ended.
func onlyThere(c contract.Contract) string {
	if c.Decided == "" || c.DecidedEvent != "" {
		return ""
	}
	return ", on that relay only: no event says it"
}
