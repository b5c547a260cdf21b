package main

import (
	"context"

	"github.com/nbd-wtf/go-nostr"
	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
)

func (a *app) contractMoveCommand() *cobra.Command {
	var how moveFlags
	c := a.Command(&cobra.Command{
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
	}, func(ctx context.Context, args []string) error {
		if err := checkStatus("STATUS", args[1], false); err != nil {
			return err
		}
		return a.moveContract(ctx, how, args, (*client.Contracts).Move)
	})
	how.flags(a, c)
	return c
}

// moveFlags are what moves and decisions take beside the contract and its status.
type moveFlags struct {
	asJSON, allow     bool
	with, note, event string
}

func (f *moveFlags) flags(a *app, c *cobra.Command) {
	cliutil.JSONFlag(c, &f.asJSON)
	cliutil.SecretFlag(c, &f.allow)
	a.whichFlags(c, &f.with)
	eventFlag(c, &f.event)
	c.Flags().StringVar(&f.note, "note", "", "`TEXT` that says why")
}

// moveContract moves the contract args[0] to the status args[1] and prints where
// it stands then.
func (a *app) moveContract(ctx context.Context, how moveFlags, args []string,
	move func(*client.Contracts, context.Context, string, string, string, string, *nostr.Event) (client.Contract, client.Status, error)) error {
	other, err := settings.PublicKey("--with", "the command line", how.with)
	if err != nil {
		return err
	}
	if err := cliutil.CheckText(how.note); err != nil {
		return err
	}
	if err := guardContract(how.allow, how.note); err != nil {
		return err
	}
	ev, err := a.eventFile(how.event)
	if err != nil {
		return err
	}
	return cliutil.WithContracts(ctx, a.Env, func(ctx context.Context, cs *client.Contracts) error {
		c, s, err := move(cs, ctx, args[0], other, args[1], how.note, ev)
		if err := a.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
			return err
		}
		if how.asJSON {
			return a.PrintJSON(contractAnswer{cliutil.AnswerOf(nil, s), contractFor(c, cs.PubKey())})
		}
		return a.Print("%s  %s%s\n", c.ID, c.Status, onlyThere(c))
	})
}
