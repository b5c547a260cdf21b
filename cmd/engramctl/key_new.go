package main

import (
	"context"
	"errors"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip49"
	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
)

func keyNewCommand(env *cliutil.Env) *cobra.Command {
	var asJSON, encrypted bool
	var passwordFile string
	c := env.Command(&cobra.Command{
		Use:   "new FILE [--encrypt] [--password-file FILE] [--json]",
		Short: "Make a key",
		Long: `Make a key and write it to a new file (mode 0600) as nsec, or with --encrypt as
ncryptsec under a password. Prints the public key as npub and in hex. A file that
is there is never written over. Keep a copy of it: who loses the key loses the
memory.`,
		Example: `  engramctl key new agent.key
  engramctl key new owner.key --encrypt`,
		Args: cliutil.Arguments("FILE"),
	}, func(ctx context.Context, args []string) error {
		id, text, err := newKey()
		if err != nil {
			return err
		}
		if encrypted || passwordFile != "" {
			password, err := env.NewPassword(ctx, passwordFile)
			if err != nil {
				return err
			}
			secret, _, err := settings.ParseSecret(text)
			if err != nil {
				return exit.BadUsage(err)
			}
			if text, err = settings.Encrypt(secret, password, env.KeyCost, nip49.NotKnownToHaveBeenHandledInsecurely); err != nil {
				return exit.BadUsage(err)
			}
		}
		if err := settings.WritePrivate(env.Path(args[0]), text+"\n"); err != nil {
			return exit.BadUsage(err)
		}
		return printKey(env, id.PubKey(), asJSON)
	})
	cliutil.JSONFlag(c, &asJSON)
	c.Flags().BoolVar(&encrypted, "encrypt", false, "encrypt the file with a password (NIP-49)")
	c.Flags().StringVar(&passwordFile, "password-file", "", "`file` with the password, mode 0600; implies --encrypt")
	return c
}

// newKey makes a key, and its nsec.
func newKey() (client.Identity, string, error) {
	secret := nostr.GeneratePrivateKey()
	id, err := client.NewIdentity(secret)
	if err != nil {
		return id, "", errors.New("no key could be made")
	}
	text, err := settings.EncodeSecret(secret)
	return id, text, err
}
