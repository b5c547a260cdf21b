package contract

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/client/contract"
)

func newSummary(env *cliutil.Env) *cobra.Command {
	var o threadOptions
	c := env.Command(&cobra.Command{
		Use:   "summary ID [--json]",
		Short: "Count a contract's entries by type, author and visibility",
		Long: `Count the entries of a contract that you may see, by type, author and visibility, and how
many of them are published as signed events; and its moves, with the notes that say why.`,
		Example: `  engramctl contract summary ID --json`,
		Args:    cliutil.Arguments("ID"),
	}, func(ctx context.Context, args []string) error { return runSummary(ctx, env, o, args) })
	o.flags(env, c)
	return c
}

func runSummary(ctx context.Context, env *cliutil.Env, o threadOptions, args []string) error {
	return withThread(ctx, env, args[0], o.with, func(_ string, t contract.Thread, s client.Status) error {
		sum := t.Summary()
		if o.asJSON {
			return env.PrintJSON(struct {
				cliutil.AnswerOut
				contract.Summary
			}{cliutil.AnswerOf(nil, s), sum})
		}
		return printSummary(env, t, sum)
	})
}

func printSummary(env *cliutil.Env, t contract.Thread, sum contract.Summary) error {
	w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "status\t%s\nentries\t%d\npublished\t%d\n", statusText(t.Contract), sum.TotalEntries, sum.NostrPublished)
	for _, part := range []struct {
		name   string
		counts map[string]int
	}{{"type", sum.ByType}, {"visibility", sum.ByVisibility}, {"author", sum.ByAuthor}} {
		for _, key := range slices.Sorted(maps.Keys(part.counts)) {
			fmt.Fprintf(w, "%s %s\t%d\n", part.name, cliutil.OneLine(key, 64), part.counts[key])
		}
	}
	if r := sum.DateRange; r != nil {
		fmt.Fprintf(w, "first\t%s\nlast\t%s\n", r.Earliest, r.Latest)
	}
	fmt.Fprintf(w, "moves\t%d\n", sum.TotalTransitions)
	for _, n := range sum.Notes {
		fmt.Fprintf(w, "%s by %s\t%s\n", cliutil.OneLine(n.Status, 20), n.Role, cliutil.OneLine(n.Note, 200))
	}
	return w.Flush()
}
