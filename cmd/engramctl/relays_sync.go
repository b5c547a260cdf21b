package main

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
)

// relaysSyncCommand is what sync without arguments was called in the first
// release.
func relaysSyncCommand(a *cliutil.Env) *cobra.Command {
	var f syncFlags
	c := a.Command(&cobra.Command{
		Use:     "sync [--json]",
		Short:   "The former name of engramctl sync without relays",
		Long:    `The former name of engramctl sync without relays. It does the same, prints the same, and says so.`,
		Example: `  engramctl relays sync`,
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		a.Note("relays sync is called sync now: engramctl sync")
		return syncRelays(ctx, a, nil, f)
	})
	cliutil.JSONFlag(c, &f.asJSON)
	return c
}
