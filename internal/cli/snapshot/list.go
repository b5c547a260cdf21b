package snapshot

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
)

type listOptions struct {
	asJSON bool
}

func newList(env *cliutil.Env, f *Options) *cobra.Command {
	var o listOptions
	c := env.Command(&cobra.Command{
		Use:     "ls [--json]",
		Aliases: []string{"list"},
		Short:   "List an agent's snapshots, newest first",
		Long: `List an agent's snapshots, newest first: id, number of events, size; what it is (whole;
partial, because some relay did not answer; an owner's part; empty), whether it was
verified or found damaged, and its label. No relay is asked.`,
		Example: `  engramctl snapshot ls --agent npub1… --json`,
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error { return runList(ctx, env, o, f) })
	cliutil.JSONFlag(c, &o.asJSON)
	return c
}

func runList(ctx context.Context, env *cliutil.Env, o listOptions, f *Options) error {
	p, err := partyOf(ctx, env, false)
	if err != nil {
		return err
	}
	store, err := snapshotStore(env, f)
	if err != nil {
		return err
	}
	list, err := store.List(f.Tenant, p.agent)
	if err != nil {
		return err
	}
	if o.asJSON {
		out := []infoOut{}
		for _, info := range list {
			out = append(out, infoOut{info, info.Path})
		}
		return env.PrintJSON(struct {
			Snapshots []infoOut `json:"snapshots"`
		}{out})
	}
	if len(list) == 0 {
		env.Note("no snapshots of agent %s, tenant %s", p.agent, f.Tenant)
	}
	w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
	for _, info := range list {
		fmt.Fprintf(w, "%s\t%d events\t%d B\t%s\t%s\n", info.ID, info.Events, info.Size, strings.Join(info.Marks(), ","), info.Label)
	}
	return w.Flush()
}
