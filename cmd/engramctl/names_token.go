package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
)

func identityTokenCommand(env *cliutil.Env) *cobra.Command {
	return cliutil.Group(&cobra.Command{
		Use:   "token",
		Short: "Renew or void the bearer token of an agent whose key the relay keeps",
		Long: `Renew or void the bearer token of an agent whose key the relay keeps. It is for the
operator, when a token was lost or has leaked, and for the agent itself, by the token that it
has (ENGRAM_TOKEN).

Exit code 3 for others, 5 if the agent has its key itself.`,
		Example: `  engramctl identity token renew agent-0000 agent.token --key-file op.key
  engramctl identity token void agent-0000 --key-file op.key`,
	}, identityTokenRenewCommand(env), identityTokenVoidCommand(env))
}

func identityTokenRenewCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "renew AGENT_ID FILE",
		Short: "Make a new token; the one before is void",
		Long: `Have the relay make a new bearer token for an agent whose key it keeps, and write it to
a new file (mode 0600). The token before is worth nothing from then on.`,
		Example: `  engramctl identity token renew agent-0000 agent.token --key-file op.key`,
		Args:    cliutil.Arguments("AGENT_ID", "FILE"),
	}, func(ctx context.Context, args []string) error {
		return renewToken(ctx, env, args[0], args[1])
	})
}

func identityTokenVoidCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "void AGENT_ID",
		Short: "Void all tokens of an agent",
		Long: `Void all bearer tokens of an agent at once. Its key stays with the relay;
token renew gives it a new token.`,
		Example: `  engramctl identity token void agent-0000 --key-file op.key`,
		Args:    cliutil.Arguments("AGENT_ID"),
	}, func(ctx context.Context, args []string) error {
		return cliutil.WithNames(ctx, env, func(ctx context.Context, cs *client.Contracts) error {
			id, s, err := cs.VoidToken(ctx, args[0])
			if err := env.ReportWith(s, err, contractRemedy); err != nil {
				return err
			}
			return env.Print("%s  its tokens are void\n", cliutil.Plain(id.AgentID))
		})
	})
}

// renewToken has a token renewed into a new file.
func renewToken(ctx context.Context, env *cliutil.Env, agentID, file string) error {
	err := toPrivate(env, file, func(f *privateFile) error {
		return cliutil.WithNames(ctx, env, func(ctx context.Context, cs *client.Contracts) error {
			token, s, err := cs.RenewToken(ctx, agentID)
			if err := env.ReportWith(s, err, contractRemedy); err != nil {
				return err
			}
			return keepSecret(f, token, "the token was renewed and could not be written down, renew it again")
		})
	})
	if err != nil {
		return err
	}
	return env.Print("%s  %s\n", agentID, file)
}

// toPrivate runs do with a new file that only its user can read: made first,
// because what cannot be written down would be lost, with room for what comes,
// and removed if nothing came.
func toPrivate(env *cliutil.Env, file string, do func(f *privateFile) error) error {
	path := env.Path(file)
	opened, err := newPrivate(path)
	if err != nil {
		return exit.BadUsage(err)
	}
	f := &privateFile{File: opened}
	if _, err = io.WriteString(f, strings.Repeat("\n", secretRoom)); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = do(f)
	}
	if err = errors.Join(err, f.Close()); err != nil && !f.kept {
		_ = os.Remove(path)
	}
	return err
}

// privateFile is a file for one secret.
type privateFile struct {
	*os.File
	kept bool // the secret is in it: it may be the only copy
}

// secretRoom is more bytes than a token or a key has.
const secretRoom = 256

// keepSecret writes a secret into the room that toPrivate made.
func keepSecret(f *privateFile, secret, failed string) error {
	text := secret + "\n"
	_, err := f.WriteAt([]byte(text), 0)
	if f.kept = err == nil; f.kept {
		err = errors.Join(f.Truncate(int64(len(text))), f.Sync())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", failed, err)
	}
	return nil
}

// newPrivate makes a new file that only its user can read.
func newPrivate(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}
