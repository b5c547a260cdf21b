package main

import (
	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/settings"
)

func keyCommand(env *cliutil.Env) *cobra.Command {
	return cliutil.Group(&cobra.Command{
		Use:   "key",
		Short: "Make, show and encrypt keys",
		Long: `Make, show and encrypt keys. Secret keys lie in files that only their user can read
(mode 0600), or in ENGRAM_KEY; they are never printed, and never taken from the
command line.`,
		Example: `  engramctl key new agent.key`,
	}, keyNewCommand(env), keyShowCommand(env), keyEncryptCommand(env))
}

// printKey shows a public key both ways.
func printKey(env *cliutil.Env, pubkey string, asJSON bool) error {
	if asJSON {
		return env.PrintJSON(cliutil.KeyOut{Npub: settings.Npub(pubkey), Pubkey: pubkey})
	}
	return env.Print("%s\n%s\n", settings.Npub(pubkey), pubkey)
}
