// Package identity manages the names and tokens of agents whose keys a relay keeps: engramctl identity.
package identity

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/agent/view"
	"engramd/internal/cli/bearer"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/contract"
)

// New returns engramctl identity.
func New(env *cliutil.Env) *cobra.Command {
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
	}, provisionCommand(env), bindCommand(env), lsCommand(env), showCommand(env), claimCommand(env),
		deleteCommand(env), tokenCommand(env))
}

// identityOut is an identity in JSON.
type identityOut struct {
	AgentID     string `json:"agent_id"`
	Npub        string `json:"npub"`
	Pubkey      string `json:"pubkey"`
	Provisioned bool   `json:"provisioned"` // the relay keeps its key
	CreatedAt   string `json:"created_at,omitempty"`
}

func identityFor(id contract.AgentIdentity) identityOut {
	return identityOut{AgentID: id.AgentID, Npub: settings.Npub(id.PubKey), Pubkey: id.PubKey, Provisioned: id.Provisioned, CreatedAt: view.Known(id.CreatedAt)}
}

func printIdentity(env *cliutil.Env, id contract.AgentIdentity) error {
	out := identityFor(id)
	return env.Show(out, "%s  %s  %s\n", cliutil.Plain(id.AgentID), out.Npub, keptText(id))
}

func keptText(id contract.AgentIdentity) string {
	if id.Provisioned {
		return "key kept by the relay"
	}
	return "has its key itself"
}

func provisionCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "provision AGENT_ID FILE [--json]",
		Short: "Have the relay make and keep a key for an agent",
		Long: `Have the relay make a key for an agent that has none, keep it, and sign for the agent. The
bearer token with which the agent acts is written to a new file; it is shown only once. For
the operator.

Exit code 3 if the key is not the operator's, 5 if the name is taken.`,
		Example: `  engramctl identity provision agent-0000 agent.token --key-file op.key`,
	}, func(ctx context.Context, args []string) error {
		var made contract.AgentIdentity
		err := toPrivate(env, args[1], func(f *privateFile) error {
			return bearer.WithNames(ctx, env, func(ctx context.Context, cs *contract.Contracts) error {
				id, token, s, err := cs.Provision(ctx, args[0])
				if err := env.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
					return err
				}
				made = id
				return keepSecret(f, token, "the key was made and its token could not be written down, renew it (identity token renew)")
			})
		})
		if err != nil {
			return err
		}
		return printIdentity(env, made)
	})
}

func bindCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "bind AGENT_ID [--json]",
		Short: "Bind a name to one's own key",
		Long: `Bind a name to the key that calls, first come. The contract memory API then calls the key
by this name.

Exit code 5 if the name is another's, or the key has another name.`,
		Example: `  engramctl identity bind agent-0001 --key-file agent.key`,
	}, func(ctx context.Context, args []string) error {
		return bearer.WithNames(ctx, env, func(ctx context.Context, cs *contract.Contracts) error {
			id, s, err := cs.Bind(ctx, args[0])
			if err := env.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
				return err
			}
			return printIdentity(env, id)
		})
	})
}

func claimCommand(env *cliutil.Env) *cobra.Command {
	var tokenFile string
	c := env.Command(&cobra.Command{
		Use:   "claim AGENT_ID FILE [--token-file FILE] [--json]",
		Short: "Take the key away that the relay keeps for an agent",
		Long: `Take the secret key away that the relay keeps for an agent, once, by the agent's bearer
token (--token-file, or ENGRAM_TOKEN with ENGRAM_TOKEN_RELAY), and write it to a new file as
nsec. The relay forgets the key, and the token with it. The token is sent to one relay, over
wss:// or on this machine only; no key is needed.

Exit code 3 if the token is not this agent's, or not any more.`,
		Example: `  engramctl identity claim agent-0000 agent.key --token-file agent.token`,
	}, func(ctx context.Context, args []string) error {
		t, err := claimToken(env, tokenFile)
		if err != nil {
			return err
		}
		var claimed contract.AgentIdentity
		err = toPrivate(env, args[1], func(f *privateFile) error {
			nobody := client.New(client.Identity{}, client.Options{Relays: []string{t.Relay}, Timeout: env.Flags.Timeout, Trace: env.Trace()})
			defer nobody.Close()
			ctx, done := env.Bounded(ctx)
			defer done()
			secret, id, status, err := contract.Of(nobody).ClaimKey(ctx, args[0], t.Text)
			if err := env.ReportWith(status, err, cliutil.ContractRemedy); err != nil {
				return err
			}
			nsec, err := settings.EncodeSecret(secret)
			if err != nil {
				return err
			}
			claimed = id
			return keepSecret(f, nsec, "the relay has given the key away and it could not be written down: it is lost")
		})
		if err != nil {
			return err
		}
		return printIdentity(env, claimed)
	})
	c.Flags().StringVar(&tokenFile, "token-file", "", "`file` with the agent's bearer token, readable by its user only")
	return c
}

// claimToken returns the token of a file, for the one relay that is configured,
// or that of the environment, for its relay.
func claimToken(env *cliutil.Env, file string) (bearer.Token, error) {
	if file == "" {
		t, err := bearer.BearerToken(env)
		if err == nil && t == (bearer.Token{}) {
			err = exit.Usagef("--token-file is missing, and ENGRAM_TOKEN is not set: the agent's bearer token proves whose key it is")
		}
		return t, err
	}
	text, err := settings.ReadPrivate("token file", env.Path(file))
	if err != nil {
		return bearer.Token{}, exit.BadUsage(err)
	}
	s, err := env.Settings()
	if err != nil {
		return bearer.Token{}, err
	}
	if len(s.Relays) != 1 {
		return bearer.Token{}, exit.Usagef("a token is of one relay, and %d are configured: name it with --relay", len(s.Relays))
	}
	return bearer.Token{Text: strings.TrimSpace(text), Relay: s.Relays[0]}, nil
}
