package main

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/client"
)

func (a *app) agentsRevokeCommand() *cobra.Command {
	return a.command(&cobra.Command{
		Use:   "revoke PUBKEY",
		Short: "Take an approval back",
		Long: `Take an approval back. What the agent wrote stays, and stays readable. A relay that
cannot be reached keeps the approval: stderr names it; revoke again once it is
back. Exit code 1 if the agent is not approved.`,
		Example: `  engramctl agents revoke npub1… --key-file owner.key --relay wss://relay.example`,
		Args:    arguments("PUBKEY"),
	}, func(ctx context.Context, args []string) error {
		agent, err := agentArgument(args[0])
		if err != nil {
			return err
		}
		return a.withApprovals(ctx, func(ctx context.Context, list *client.Approvals) error {
			status, err := list.Revoke(ctx, agent)
			if err := a.reportWith(status, explained(err), approvalsRemedy); err != nil {
				return err
			}
			return a.print("%s  revoked\n", npub(agent))
		})
	})
}
