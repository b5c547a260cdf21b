package contract

import (
	"context"

	"github.com/nbd-wtf/go-nostr"
	"github.com/spf13/cobra"

	"engramd/internal/cli/bearer"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/nips/niptemp"
)

func newMove(env *cliutil.Env) *cobra.Command {
	var o moveOptions
	c := env.Command(&cobra.Command{
		Use:   "move ID STATUS [--note TEXT] [--json]",
		Short: "Accept, submit, complete, dispute or cancel a contract",
		Long: `Move a contract to another status, by an event that the key signs:

  accepted   the worker takes an open contract, and agrees with that to who decides
             (contract show says who); the poster asks for a revision
  submitted  the worker has delivered
  completed  the poster is content; a dispute ends (contract decide)
  disputed   either, once it is accepted
  cancelled  the poster while it is open; the worker gives it back; a dispute ends

A contract expires by itself at the deadline, if it has one.

--note says why; it is public like all that is shared. Exit code 5 if the contract is in a
status from which that does not lead, or somebody else was faster; 3 if it is not this
key's move.`,
		Example: `  engramctl contract move ID accepted
  engramctl contract move ID accepted --note "The sources are missing"   # as poster: a revision`,
		Args: cliutil.Arguments("ID", "STATUS"),
	}, func(ctx context.Context, args []string) error { return runMove(ctx, env, o, args) })
	o.flags(env, c)
	return c
}

func runMove(ctx context.Context, env *cliutil.Env, o moveOptions, args []string) error {
	if err := checkStatus("STATUS", args[1], false); err != nil {
		return err
	}
	return moveContract(ctx, env, o, args, (*contract.Contracts).Move)
}

// moveOptions are what moves and decisions take beside the contract and its status.
type moveOptions struct {
	threadOptions
	allow       bool
	note, event string
}

func (o *moveOptions) flags(env *cliutil.Env, c *cobra.Command) {
	o.threadOptions.flags(env, c)
	cliutil.SecretFlag(c, &o.allow)
	eventFlag(c, &o.event)
	c.Flags().StringVar(&o.note, "note", "", "`TEXT` that says why")
}

// moveContract moves the contract args[0] to the status args[1] and prints where
// it stands then.
func moveContract(ctx context.Context, env *cliutil.Env, o moveOptions, args []string,
	move func(*contract.Contracts, context.Context, string, string, string, string, *nostr.Event) (contract.Contract, client.Status, error)) error {
	other, err := settings.PublicKey("--with", "the command line", o.with)
	if err != nil {
		return err
	}
	if err := cliutil.CheckText(o.note); err != nil {
		return err
	}
	if err := guard(o.allow, o.note); err != nil {
		return err
	}
	ev, err := eventFile(env, o.event)
	if err != nil {
		return err
	}
	return bearer.WithContracts(ctx, env, func(ctx context.Context, cs *contract.Contracts) error {
		c, s, err := move(cs, ctx, args[0], other, args[1], o.note, ev)
		if err := env.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
			return err
		}
		if o.asJSON {
			return env.PrintJSON(answerOut{cliutil.AnswerOf(nil, s), contractFor(c, cs.PubKey())})
		}
		return env.Print("%s  %s%s\n", c.ID, c.Status, onlyThere(c))
	})
}

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
