package main

import "github.com/spf13/cobra"

func (a *app) relaysCommand() *cobra.Command {
	return a.pairFlags(a.group(&cobra.Command{
		Use:   "relays",
		Short: "The relays that keep an agent's memory",
		Long: `The relays that keep an agent's memory: those of the agent's own list (NIP-65, kind
10002: its write and unmarked entries), which is looked for on the configured
relays; if there is no list, the configured ones.`,
		Example: `  engramctl relays ls
  engramctl relays sync`,
	}, a.relaysLsCommand(), a.relaysSyncCommand()))
}
