package main

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/client"
	"engramd/nips/niptemp"
)

func (a *app) contractDecideCommand() *cobra.Command {
	var asJSON, allow bool
	var with, note, event string
	c := a.command(&cobra.Command{
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
		Args:    arguments("ID", "STATUS"),
	}, func(ctx context.Context, args []string) error {
		if status := niptemp.Status(args[1]); status != niptemp.Completed && status != niptemp.Cancelled {
			return usagef("STATUS: a dispute ends completed or cancelled, not %q", args[1])
		}
		other, err := publicKey("--with", "the command line", with)
		if err != nil {
			return err
		}
		if err := checkText(note); err != nil {
			return err
		}
		if err := guardContract(allow, note); err != nil {
			return err
		}
		ev, err := a.eventFile(event)
		if err != nil {
			return err
		}
		return a.withContracts(ctx, func(ctx context.Context, cs *client.Contracts) error {
			c, s, err := cs.Decide(ctx, args[0], other, args[1], note, ev)
			if err := a.reportWith(s, err, contractRemedy); err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(contractAnswer{answerOf(nil, s), contractFor(c, cs.PubKey())})
			}
			return a.print("%s  %s%s\n", c.ID, c.Status, onlyThere(c))
		})
	})
	jsonFlag(c, &asJSON)
	secretFlag(c, &allow)
	a.whichFlags(c, &with)
	eventFlag(c, &event)
	c.Flags().StringVar(&note, "note", "", "`TEXT` that says why")
	return c
}

// onlyThere says of a contract that no event says how it ended.
func onlyThere(c client.Contract) string {
	if c.Decided == "" || c.DecidedEvent != "" {
		return ""
	}
	return ", on that relay only: no event says it"
}
