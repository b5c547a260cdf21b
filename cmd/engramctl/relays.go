package main

import (
	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
)

func (a *app) relaysCommand() *cobra.Command {
	return cliutil.PairFlags(a.Env, cliutil.Group(&cobra.Command{
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
	}, a.relaysLsCommand(), a.relaysSetCommand(), a.relaysIgnoreCommand(), a.relaysSyncCommand()))
}
