package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/client"
)

func (a *app) adminIdentityCommand() *cobra.Command {
	return a.group(&cobra.Command{
		Use:   "identity",
		Short: "Names of agents, and keys that the relay keeps for them",
		Long: `Names of agents in the contract memory API, and keys that the relay keeps for agents that
have none (docs/contracts.md). The operator provisions a key and hands the agent its token;
the agent claims its key with the token, or an agent that has a key binds a name to it.

Tokens and keys go to new files (mode 0600) and are never printed.`,
		Example: `  engramctl admin identity provision agent-0000 agent.token --key-file op.key
  engramctl admin identity get agent-0000`,
	}, a.identityProvisionCommand(), a.identityGetCommand(), a.identityTokenCommand(), a.identityClaimCommand(), a.identityBindCommand())
}

// identityOut is an identity in JSON.
type identityOut struct {
	AgentID     string `json:"agent_id"`
	Npub        string `json:"npub"`
	Pubkey      string `json:"pubkey"`
	Provisioned bool   `json:"provisioned"` // the relay keeps its key
	CreatedAt   string `json:"created_at,omitempty"`
}

func (a *app) printIdentity(id client.AgentIdentity, asJSON bool) error {
	out := identityOut{AgentID: id.AgentID, Npub: npub(id.PubKey), Pubkey: id.PubKey, Provisioned: id.Provisioned}
	if id.CreatedAt != 0 {
		out.CreatedAt = stamp(id.CreatedAt)
	}
	if asJSON {
		return a.printJSON(out)
	}
	kept := "has its key itself"
	if id.Provisioned {
		kept = "key kept by the relay"
	}
	return a.print("%s  %s  %s\n", plain(id.AgentID), out.Npub, kept)
}

func (a *app) identityProvisionCommand() *cobra.Command {
	var asJSON bool
	c := a.command(&cobra.Command{
		Use:   "provision AGENT_ID FILE [--json]",
		Short: "Have the relay make and keep a key for an agent",
		Long: `Have the relay make a key for an agent that has none, keep it, and sign for the agent. The
bearer token with which the agent acts is written to a new file; it is shown only once. For
the operator.

Exit code 3 if the key is not the operator's, 5 if the name is taken.`,
		Example: `  engramctl admin identity provision agent-0000 agent.token --key-file op.key`,
		Args:    arguments("AGENT_ID", "FILE"),
	}, func(ctx context.Context, args []string) error {
		var made client.AgentIdentity
		err := a.toPrivate(args[1], func(f *privateFile) error {
			return a.withContracts(ctx, func(ctx context.Context, cs *client.Contracts) error {
				id, token, s, err := cs.Provision(ctx, args[0])
				if err := a.reportWith(s, err, contractRemedy); err != nil {
					return err
				}
				made = id
				return keepSecret(f, token, "the key was made and its token could not be written down, renew it (admin identity token)")
			})
		})
		if err != nil {
			return err
		}
		return a.printIdentity(made, asJSON)
	})
	jsonFlag(c, &asJSON)
	return c
}

func (a *app) identityGetCommand() *cobra.Command {
	var asJSON bool
	c := a.command(&cobra.Command{
		Use:     "get AGENT_ID [--json]",
		Short:   "Show the key behind an agent's name, or the name of a key",
		Long:    "Show the key behind an agent's name, or the name of a key (npub, nprofile or hex), and whether\nthe relay keeps the key.",
		Example: `  engramctl admin identity get agent-0000`,
		Args:    arguments("AGENT_ID"),
	}, func(ctx context.Context, args []string) error {
		name := args[0]
		for _, prefix := range []string{"npub1", "nprofile1", "nsec1", "nostr:"} {
			if strings.HasPrefix(strings.ToLower(name), prefix) {
				key, err := publicKey("AGENT_ID", "the command line", name)
				if err != nil {
					return err
				}
				name = key
			}
		}
		return a.withContracts(ctx, func(ctx context.Context, cs *client.Contracts) error {
			id, s, err := cs.Identity(ctx, name)
			if err := a.reportWith(s, err, contractRemedy); err != nil {
				return err
			}
			return a.printIdentity(id, asJSON)
		})
	})
	jsonFlag(c, &asJSON)
	return c
}

func (a *app) identityTokenCommand() *cobra.Command {
	return a.command(&cobra.Command{
		Use:   "token AGENT_ID FILE",
		Short: "Renew the bearer token of an agent whose key the relay keeps",
		Long: `Renew the bearer token of an agent whose key the relay keeps, into a new file. The token
before is worth nothing from then on. For the operator (contract token is the same).`,
		Example: `  engramctl admin identity token agent-0000 agent.token --key-file op.key`,
		Args:    arguments("AGENT_ID", "FILE"),
	}, func(ctx context.Context, args []string) error { return a.renewToken(ctx, args[0], args[1]) })
}

func (a *app) identityClaimCommand() *cobra.Command {
	var asJSON bool
	var tokenFile string
	c := a.command(&cobra.Command{
		Use:   "claim AGENT_ID FILE --token-file FILE [--json]",
		Short: "Take the key away that the relay keeps for an agent",
		Long: `Take the secret key away that the relay keeps for an agent, once, by the agent's bearer
token, and write it to a new file as nsec. The relay forgets the key, and the token with it.
The token is sent to the one relay that is named, over wss:// or on this machine only; no
other key is needed.

Exit code 3 if the token is not this agent's, or not any more.`,
		Example: `  engramctl admin identity claim agent-0000 agent.key --token-file agent.token`,
		Args:    arguments("AGENT_ID", "FILE"),
	}, func(ctx context.Context, args []string) error {
		if tokenFile == "" {
			return usagef("--token-file is missing: the agent's bearer token proves whose key it is")
		}
		token, err := readPrivate("token file", a.path(tokenFile))
		if err != nil {
			return usageError{err}
		}
		s, err := a.settings()
		if err != nil {
			return err
		}
		if len(s.relays) != 1 {
			return usagef("a token is of one relay, and %d are configured: name it with --relay", len(s.relays))
		}
		var claimed client.AgentIdentity
		err = a.toPrivate(args[1], func(f *privateFile) error {
			nobody := client.New(client.Identity{}, client.Options{Relays: s.relays, Timeout: a.flags.timeout, Trace: a.trace()})
			defer nobody.Close()
			ctx, done := a.bounded(ctx)
			defer done()
			secret, id, status, err := nobody.Contracts().ClaimKey(ctx, args[0], strings.TrimSpace(token))
			if err := a.reportWith(status, err, contractRemedy); err != nil {
				return err
			}
			nsec, err := encodeSecret(secret)
			if err != nil {
				return err
			}
			claimed = id
			return keepSecret(f, nsec, "the relay has given the key away and it could not be written down: it is lost")
		})
		if err != nil {
			return err
		}
		return a.printIdentity(claimed, asJSON)
	})
	jsonFlag(c, &asJSON)
	c.Flags().StringVar(&tokenFile, "token-file", "", "`file` with the agent's bearer token, readable by its user only")
	return c
}

func (a *app) identityBindCommand() *cobra.Command {
	var asJSON bool
	c := a.command(&cobra.Command{
		Use:   "bind AGENT_ID [--json]",
		Short: "Bind a name to one's own key",
		Long: `Bind a name to the key that calls, first come. The contract memory API then calls the key
by this name.

Exit code 5 if the name is another's, or the key has another name.`,
		Example: `  engramctl admin identity bind agent-0001 --key-file agent.key`,
		Args:    arguments("AGENT_ID"),
	}, func(ctx context.Context, args []string) error {
		return a.withContracts(ctx, func(ctx context.Context, cs *client.Contracts) error {
			id, s, err := cs.Bind(ctx, args[0])
			if err := a.reportWith(s, err, contractRemedy); err != nil {
				return err
			}
			return a.printIdentity(id, asJSON)
		})
	})
	jsonFlag(c, &asJSON)
	return c
}
