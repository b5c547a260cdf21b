package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
)

func identityClaimCommand(env *cliutil.Env) *cobra.Command {
	var asJSON bool
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
		Args:    cliutil.Arguments("AGENT_ID", "FILE"),
	}, func(ctx context.Context, args []string) error {
		t, err := claimToken(env, tokenFile)
		if err != nil {
			return err
		}
		var claimed client.AgentIdentity
		err = toPrivate(env, args[1], func(f *privateFile) error {
			nobody := client.New(client.Identity{}, client.Options{Relays: []string{t.Relay}, Timeout: env.Flags.Timeout, Trace: env.Trace()})
			defer nobody.Close()
			ctx, done := env.Bounded(ctx)
			defer done()
			secret, id, status, err := nobody.Contracts().ClaimKey(ctx, args[0], t.Text)
			if err := env.ReportWith(status, err, contractRemedy); err != nil {
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
		return printIdentity(env, claimed, asJSON)
	})
	cliutil.JSONFlag(c, &asJSON)
	c.Flags().StringVar(&tokenFile, "token-file", "", "`file` with the agent's bearer token, readable by its user only")
	return c
}

// claimToken returns the token of a file, for the one relay that is configured,
// or that of the environment, for its relay.
func claimToken(env *cliutil.Env, file string) (cliutil.Token, error) {
	if file == "" {
		t, err := env.BearerToken()
		if err == nil && t == (cliutil.Token{}) {
			err = exit.Usagef("--token-file is missing, and ENGRAM_TOKEN is not set: the agent's bearer token proves whose key it is")
		}
		return t, err
	}
	text, err := settings.ReadPrivate("token file", env.Path(file))
	if err != nil {
		return cliutil.Token{}, exit.BadUsage(err)
	}
	s, err := env.Settings()
	if err != nil {
		return cliutil.Token{}, err
	}
	if len(s.Relays) != 1 {
		return cliutil.Token{}, exit.Usagef("a token is of one relay, and %d are configured: name it with --relay", len(s.Relays))
	}
	return cliutil.Token{Text: strings.TrimSpace(text), Relay: s.Relays[0]}, nil
}
