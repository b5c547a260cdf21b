package main

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
)

func keyShowCommand(env *cliutil.Env) *cobra.Command {
	var asJSON bool
	c := env.Command(&cobra.Command{
		Use:   "show [--json]",
		Short: "Print the public key of the key in use",
		Long:  `Print the public key of the key in use, as npub and in hex. The secret key is never printed.`,
		Example: `  engramctl key show --key-file agent.key
  engramctl key show --profile me`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		s, err := env.Settings()
		if err != nil {
			return err
		}
		id, err := env.Identity(ctx, s)
		if err != nil {
			return err
		}
		return printKey(env, id.PubKey(), asJSON)
	})
	cliutil.JSONFlag(c, &asJSON)
	return c
}
