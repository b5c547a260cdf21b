// Package key makes, shows and encrypts secret keys: engramctl key.
package key

import (
	"context"

	"github.com/nbd-wtf/go-nostr/nip49"
	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
)

// New returns engramctl key.
func New(env *cliutil.Env) *cobra.Command {
	return cliutil.Group(&cobra.Command{
		Use:   "key",
		Short: "Make, show and encrypt keys",
		Long: `Make, show and encrypt keys. Secret keys lie in files that only their user can read
(mode 0600), or in ENGRAM_KEY; they are never printed, and never taken from the
command line.`,
		Example: `  engramctl key new agent.key`,
	}, newCommand(env), showCommand(env), encryptCommand(env))
}

// printKey shows a public key both ways.
func printKey(env *cliutil.Env, pubkey string) error {
	return env.Show(cliutil.KeyOut{Npub: settings.Npub(pubkey), Pubkey: pubkey}, "%s\n%s\n", settings.Npub(pubkey), pubkey)
}

func newCommand(env *cliutil.Env) *cobra.Command {
	var o struct {
		encrypted    bool
		passwordFile string
	}
	c := env.Command(&cobra.Command{
		Use:   "new FILE [--encrypt] [--password-file FILE] [--json]",
		Short: "Make a key",
		Long: `Make a key and write it to a new file (mode 0600) as nsec, or with --encrypt as
ncryptsec under a password. Prints the public key as npub and in hex. A file that
is there is never written over. Keep a copy of it: who loses the key loses the
memory.`,
		Example: `  engramctl key new agent.key
  engramctl key new owner.key --encrypt`,
	}, func(ctx context.Context, args []string) error {
		password := ""
		if o.encrypted || o.passwordFile != "" {
			var err error
			if password, err = env.NewPassword(ctx, o.passwordFile); err != nil {
				return err
			}
		}
		id, text, err := settings.NewKey(password, env.KeyCost)
		if err != nil {
			return err
		}
		if err := settings.WritePrivate(env.Path(args[0]), text+"\n"); err != nil {
			return exit.BadUsage(err)
		}
		return printKey(env, id.PubKey())
	})
	c.Flags().BoolVar(&o.encrypted, "encrypt", false, "encrypt the file with a password (NIP-49)")
	c.Flags().StringVar(&o.passwordFile, "password-file", "", "`file` with the password, mode 0600; implies --encrypt")
	return c
}

func showCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "show [--json]",
		Short: "Print the public key of the key in use",
		Long:  `Print the public key of the key in use, as npub and in hex. The secret key is never printed.`,
		Example: `  engramctl key show --key-file agent.key
  engramctl key show --profile me`,
	}, func(ctx context.Context, _ []string) error {
		s, err := env.Settings()
		if err != nil {
			return err
		}
		id, err := env.Identity(ctx, s)
		if err != nil {
			return err
		}
		return printKey(env, id.PubKey())
	})
}

func encryptCommand(env *cliutil.Env) *cobra.Command {
	var passwordFile string
	c := env.Command(&cobra.Command{
		Use:   "encrypt FILE [--password-file FILE]",
		Short: "Write the key in use to a new file, encrypted",
		Long: `Write the key in use to a new file (mode 0600), encrypted with a password as
ncryptsec (NIP-49). If the key in use is encrypted already, this changes its
password. The old file stays: remove it once the new one works.`,
		Example: `  engramctl key encrypt agent.ncryptsec --key-file agent.key
  engramctl key show --key-file agent.ncryptsec   # asks for the password`,
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
