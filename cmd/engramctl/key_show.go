package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) keyShowCommand() *cobra.Command {
	var asJSON bool
	c := a.command(&cobra.Command{
		Use:   "show [--json]",
		Short: "Print the public key of the key in use",
		Long:  `Print the public key of the key in use, as npub and in hex. The secret key is never printed.`,
		Example: `  engramctl key show --key-file agent.key
  engramctl key show --profile me`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		s, err := a.settings()
		if err != nil {
			return err
		}
		id, err := a.identity(ctx, s)
		if err != nil {
			return err
		}
		return a.printKey(id.PubKey(), asJSON)
	})
	jsonFlag(c, &asJSON)
	return c
}
