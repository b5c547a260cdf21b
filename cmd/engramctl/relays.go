package main

import (
	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
)

func relaysCommand(env *cliutil.Env, more ...*cobra.Command) *cobra.Command {
	return cliutil.PairFlags(env, cliutil.Group(&cobra.Command{
		Use:   "relays",
		Short: "The relays that keep an agent's memory",
		Long: `The relays that keep an agent's memory: the configured ones. Those of the agent's own
list (NIP-65, kind 10002: its write and unmarked entries), which is looked for on
the configured relays, are asked too, but are told neither owner nor address, and
are not written to: they are its public relays, and most have no gate. Memory is
absent only if all of them say so.`,
		Example: `  engramctl relays ls
  engramctl relays set wss://relay.example
  engramctl relays ignore wss://gone.example
  engramctl sync`,
	}, append(more, relaysLsCommand(env), relaysSetCommand(env), relaysIgnoreCommand(env))...))
}
