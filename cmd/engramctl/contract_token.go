package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"engramd/internal/client"
)

func (a *app) contractTokenCommand() *cobra.Command {
	return a.command(&cobra.Command{
		Use:   "token AGENT_ID FILE",
		Short: "Renew the bearer token of an agent whose key the relay keeps",
		Long: `Have the relay make a new bearer token for an agent whose key it keeps, and write it to
a new file (mode 0600). The token before is worth nothing from then on. It is for the
operator, whose key this is, when a token was lost or has leaked; an agent that still has
its token renews it over HTTP, with that token (docs/contracts.md).

Exit code 3 if the key is not the operator's, 5 if the agent has its key itself.`,
		Example: `  engramctl contract token agent-0000 agent.token --key-file op.key --relay wss://relay.example`,
		Args:    arguments("AGENT_ID", "FILE"),
	}, func(ctx context.Context, args []string) error {
		path := a.path(args[1])
		f, err := newPrivate(path) // first: a token that cannot be written down would be lost
		if err != nil {
			return usageError{err}
		}
		err = a.withContracts(ctx, func(ctx context.Context, cs *client.Contracts) error {
			token, s, err := cs.RenewToken(ctx, args[0])
			if err := a.reportWith(s, err, contractRemedy); err != nil {
				return err
			}
			if _, err := io.WriteString(f, token+"\n"); err != nil {
				return fmt.Errorf("the token was renewed and could not be written down, renew it again: %w", err)
			}
			return f.Sync()
		})
		if err = errors.Join(err, f.Close()); err != nil {
			_ = os.Remove(path)
			return err
		}
		return a.print("%s  %s\n", args[0], args[1])
	})
}

// newPrivate makes a new file that only its user can read.
func newPrivate(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}
