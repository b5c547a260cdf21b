package main

import (
	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
)

func agentsRevokeCommand(env *cliutil.Env) *cobra.Command {
	return approvalCommand(env, &cobra.Command{
		Use:   "revoke PUBKEY",
		Short: "Take an approval back",
		Long: `Take an approval back. The agent's memory stays, and stays readable. A relay that
cannot be reached keeps the approval: stderr names it; revoke again once it is
back. Exit code 1 if the agent is not approved.`,
		Example: `  engramctl agents revoke npub1… --key-file owner.key --relay wss://relay.example`,
	}, "revoked", (*client.Approvals).Revoke)
}
