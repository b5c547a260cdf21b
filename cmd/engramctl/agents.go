package main

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
)

func agentsCommand(env *cliutil.Env) *cobra.Command {
	return cliutil.Group(&cobra.Command{
		Use:   "agents",
		Short: "An owner's agents, and their approval",
		Long: `An owner's agents, and their approval. Relays that take memory only for certain owners
(write.owners) take it from the agents that such an owner approves. The key is the
owner's. The approval goes to the configured relays: name those that the agent
writes to.`,
		Example: `  engramctl agents allow npub1… --key-file owner.key --relay wss://relay.example`,
	}, agentsAllowCommand(env), agentsLsCommand(env), agentsRevokeCommand(env))
}

// approvalsRemedy is for relays that did not take the list: it is no memory, so
// that engramctl sync does not send it.
const approvalsRemedy = "the same command brings the others up to date once they answer"

// withApprovals runs do on the list of the key's owner, at the configured
// relays: where an agent is to be let in, its own list of relays says nothing.
func withApprovals(ctx context.Context, env *cliutil.Env, do func(ctx context.Context, list *client.Approvals) error) error {
	c, _, err := env.Client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, done := env.Bounded(ctx)
	defer done()
	return do(ctx, c.Approvals())
}

// approvalCommand makes a command that changes the list by the one agent it
// names, and prints what that is then.
func approvalCommand(env *cliutil.Env, c *cobra.Command, then string, change func(list *client.Approvals, ctx context.Context, agent string) (client.Status, error)) *cobra.Command {
	c.Args = cliutil.Arguments("PUBKEY")
	return env.Command(c, func(ctx context.Context, args []string) error {
		agent, err := agentArgument(args[0])
		if err != nil {
			return err
		}
		return withApprovals(ctx, env, func(ctx context.Context, list *client.Approvals) error {
			status, err := change(list, ctx, agent)
			if err := env.ReportWith(status, cliutil.Explained(err), approvalsRemedy); err != nil {
				return err
			}
			return env.Print("%s  %s\n", settings.Npub(agent), then)
		})
	})
}

// agentArgument reads an agent's public key from the command line.
func agentArgument(arg string) (string, error) {
	key, err := settings.PublicKey("agent", "the command line", arg)
	if err == nil && key == "" {
		err = exit.Usagef("the agent's public key is empty")
	}
	return key, err
}
