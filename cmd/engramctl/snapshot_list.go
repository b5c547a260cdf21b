package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func (a *app) snapshotListCommand(f *snapshotFlags) *cobra.Command {
	var asJSON bool
	c := a.command(&cobra.Command{
		Use:     "list [--json]",
		Short:   "List an agent's snapshots, newest first",
		Long:    `List an agent's snapshots, newest first. No relay is asked.`,
		Example: `  engramctl snapshot list --agent npub1… --json`,
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		p, err := a.party(ctx, false)
		if err != nil {
			return err
		}
		store, err := a.snapshotStore(f)
		if err != nil {
			return err
		}
		list, err := store.List(f.tenant, p.agent)
		if err != nil {
			return err
		}
		if asJSON {
			out := []infoOut{}
			for _, info := range list {
				out = append(out, infoOut{info, info.Path})
			}
			return a.printJSON(out)
		}
		w := tabwriter.NewWriter(a.out(), 0, 0, 2, ' ', 0)
		for _, info := range list {
			fmt.Fprintf(w, "%s\t%d events\t%d B\t%s\t%s\n", info.ID, info.Events, info.Size, strings.Join(info.Marks(), ","), info.Label)
		}
		return w.Flush()
	})
	jsonFlag(c, &asJSON)
	return c
}
