package contract

import (
	"context"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"engramd/internal/cli/bearer"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/nips/niptemp"
)

func newLs(env *cliutil.Env) *cobra.Command {
	var status string
	c := env.Command(&cobra.Command{
		Use:   "ls [--status STATUS] [--json]",
		Short: "List the key's contracts",
		Long: `List the contracts that the key is a party of, the one changed last first: status, role,
time of the last change, id, and the beginning of the description. One of which only
entries are known, and no state, is "unknown", and your role in it is that of a party.`,
		Example: `  engramctl contract ls --status open
  engramctl contract ls --json | jq -r '.contracts[].contract_id'`,
	}, func(ctx context.Context, _ []string) error {
		if err := checkStatus("--status", status, true); err != nil {
			return err
		}
		return bearer.WithContracts(ctx, env, func(ctx context.Context, cs *contract.Contracts) error {
			all, s, err := cs.List(ctx, status)
			if err == nil && len(all) == 0 && s.Partial {
				err = fmt.Errorf("%w, and those that did know no contract", client.ErrPartial)
			}
			if err := env.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
				return err
			}
			if env.Flags.JSON {
				out := struct {
					cliutil.AnswerOut
					Contracts []contractOut `json:"contracts"`
				}{cliutil.AnswerOf(nil, s), []contractOut{}}
				for _, c := range all {
					out.Contracts = append(out.Contracts, contractFor(c, cs.PubKey()))
				}
				return env.PrintJSON(out)
			}
			w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
			for _, c := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", statusText(c), c.Role(cs.PubKey()), cliutil.Stamp(c.UpdatedAt), c.ID, cliutil.OneLine(c.Description, 60))
			}
			return w.Flush()
		})
	})
	c.Flags().StringVar(&status, "status", "", "only those in this `STATUS`")
	_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statusNames(), cobra.ShellCompDirectiveNoFileComp)) // cannot fail: the flag exists
	return c
}

func statusNames() []string {
	var names []string
	for _, s := range niptemp.Statuses() {
		names = append(names, string(s))
	}
	return names
}

// checkStatus wants one of the seven statuses.
func checkStatus(what, status string, optional bool) error {
	if optional && status == "" || slices.Contains(statusNames(), status) {
		return nil
	}
	return exit.Usagef("%s: %q is none of %v", what, status, statusNames())
}
