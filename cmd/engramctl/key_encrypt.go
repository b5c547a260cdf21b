package main

import (
	"context"

	"github.com/nbd-wtf/go-nostr/nip49"
	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
)

func keyEncryptCommand(env *cliutil.Env) *cobra.Command {
	var passwordFile string
	c := env.Command(&cobra.Command{
		Use:   "encrypt FILE [--password-file FILE]",
		Short: "Write the key in use to a new file, encrypted",
		Long: `Write the key in use to a new file (mode 0600), encrypted with a password as
ncryptsec (NIP-49). If the key in use is encrypted already, this changes its
password. The old file stays: remove it once the new one works.`,
		Example: `  engramctl key encrypt agent.ncryptsec --key-file agent.key
  engramctl key show --key-file agent.ncryptsec   # asks for the password`,
		Args: cliutil.Arguments("FILE"),
	}, func(ctx context.Context, args []string) error {
		s, err := env.Settings()
		if err != nil {
			return err
		}
		secret, err := env.SecretKey(ctx, s.Key)
		if err != nil {
			return err
		}
		password, err := env.NewPassword(ctx, passwordFile)
		if err != nil {
			return err
		}
		text, err := settings.Encrypt(secret, password, env.KeyCost, nip49.ClientDoesNotTrackThisData)
		if err != nil {
			return exit.BadUsage(err)
		}
		if err := settings.WritePrivate(env.Path(args[0]), text+"\n"); err != nil {
			return exit.BadUsage(err)
		}
		return env.Print("%s\n", args[0])
	})
	c.Flags().StringVar(&passwordFile, "password-file", "", "`file` with the new password, mode 0600")
	return c
}
