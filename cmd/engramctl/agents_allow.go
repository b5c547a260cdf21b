package main

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/client"
)

func (a *app) agentsAllowCommand() *cobra.Command {
	return a.command(&cobra.Command{
		Use:   "allow PUBKEY",
		Short: "Approve an agent",
		Long: `Approve an agent, given by npub or hex. Approving it again changes nothing. Every
relay must answer: one that does not may have a newer list, in which another
agent is revoked.`,
		Example: `  engramctl agents allow npub1… --key-file owner.key --relay wss://relay.example`,
		Args:    arguments("PUBKEY"),
	}, func(ctx context.Context, args []string) error {
		agent, err := agentArgument(args[0])
		if err != nil {
			return err
		}
		return a.withApprovals(ctx, func(ctx context.Context, list *client.Approvals) error {
			status, err := list.Allow(ctx, agent)
			if err := a.reportWith(status, explained(err), approvalsRemedy); err != nil {
				return err
			}
			return a.print("%s  allowed\n", npub(agent))
		})
	})
}
