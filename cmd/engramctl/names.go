package main

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
)

func namesCommand(env *cliutil.Env) *cobra.Command {
	return cliutil.Group(&cobra.Command{
		Use:   "identity",
		Short: "Names of agents, and keys that the relay keeps for them",
		Long: `Names of agents in the contract memory API, and keys that the relay keeps for agents that
have none (docs/contracts.md). The operator provisions a key and hands the agent its token;
the agent acts with it (ENGRAM_TOKEN), or claims its key, or an agent that has a key binds a
name to it. Of names that look alike there is one.

Who asks is the key; where none is configured, ENGRAM_TOKEN. Tokens and keys go to new files
(mode 0600) and are never printed.`,
		Example: `  engramctl identity provision agent-0000 agent.token --key-file op.key
  ENGRAM_TOKEN=$(cat agent.token) ENGRAM_TOKEN_RELAY=wss://relay.example engramctl contract ls
  engramctl identity ls --key-file op.key`,
	}, identityProvisionCommand(env), identityBindCommand(env), identityLsCommand(env), identityShowCommand(env), identityClaimCommand(env),
		identityDeleteCommand(env), identityTokenCommand(env))
}

// identityOut is an identity in JSON.
type identityOut struct {
	AgentID     string `json:"agent_id"`
	Npub        string `json:"npub"`
	Pubkey      string `json:"pubkey"`
	Provisioned bool   `json:"provisioned"` // the relay keeps its key
	CreatedAt   string `json:"created_at,omitempty"`
}

func identityFor(id client.AgentIdentity) identityOut {
	out := identityOut{AgentID: id.AgentID, Npub: settings.Npub(id.PubKey), Pubkey: id.PubKey, Provisioned: id.Provisioned}
	if id.CreatedAt != 0 {
		out.CreatedAt = cliutil.Stamp(id.CreatedAt)
	}
	return out
}

func printIdentity(env *cliutil.Env, id client.AgentIdentity, asJSON bool) error {
	out := identityFor(id)
	if asJSON {
		return env.PrintJSON(out)
	}
	return env.Print("%s  %s  %s\n", cliutil.Plain(id.AgentID), out.Npub, keptText(id))
}

func keptText(id client.AgentIdentity) string {
	if id.Provisioned {
		return "key kept by the relay"
	}
	return "has its key itself"
}

func identityProvisionCommand(env *cliutil.Env) *cobra.Command {
	var asJSON bool
	c := env.Command(&cobra.Command{
		Use:   "provision AGENT_ID FILE [--json]",
		Short: "Have the relay make and keep a key for an agent",
		Long: `Have the relay make a key for an agent that has none, keep it, and sign for the agent. The
bearer token with which the agent acts is written to a new file; it is shown only once. For
the operator.

Exit code 3 if the key is not the operator's, 5 if the name is taken.`,
		Example: `  engramctl identity provision agent-0000 agent.token --key-file op.key`,
		Args:    cliutil.Arguments("AGENT_ID", "FILE"),
	}, func(ctx context.Context, args []string) error {
		var made client.AgentIdentity
		err := toPrivate(env, args[1], func(f *privateFile) error {
			return cliutil.WithNames(ctx, env, func(ctx context.Context, cs *client.Contracts) error {
				id, token, s, err := cs.Provision(ctx, args[0])
				if err := env.ReportWith(s, err, contractRemedy); err != nil {
					return err
				}
				made = id
				return keepSecret(f, token, "the key was made and its token could not be written down, renew it (identity token renew)")
			})
		})
		if err != nil {
			return err
		}
		return printIdentity(env, made, asJSON)
	})
	cliutil.JSONFlag(c, &asJSON)
	return c
}

func identityBindCommand(env *cliutil.Env) *cobra.Command {
	var asJSON bool
	c := env.Command(&cobra.Command{
		Use:   "bind AGENT_ID [--json]",
		Short: "Bind a name to one's own key",
		Long: `Bind a name to the key that calls, first come. The contract memory API then calls the key
by this name.

Exit code 5 if the name is another's, or the key has another name.`,
		Example: `  engramctl identity bind agent-0001 --key-file agent.key`,
		Args:    cliutil.Arguments("AGENT_ID"),
	}, func(ctx context.Context, args []string) error {
		return cliutil.WithNames(ctx, env, func(ctx context.Context, cs *client.Contracts) error {
			id, s, err := cs.Bind(ctx, args[0])
			if err := env.ReportWith(s, err, contractRemedy); err != nil {
				return err
			}
			return printIdentity(env, id, asJSON)
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	return c
}
