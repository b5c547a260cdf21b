package main

import (
	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
)

func agentsAllowCommand(env *cliutil.Env) *cobra.Command {
	return approvalCommand(env, &cobra.Command{
		Use:   "allow PUBKEY",
		Short: "Approve an agent",
		Long: `Approve an agent, given by npub or hex. Approving it again changes nothing. Every
relay must answer: one that does not may have a newer list, in which another
agent is revoked.`,
		Example: `  engramctl agents allow npub1… --key-file owner.key --relay wss://relay.example`,
	}, "allowed", (*client.Approvals).Allow)
}
