package edit

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/client/memory"
)

// restoreOptions are the flags of mem restore.
type restoreOptions struct {
	at            string
	asJSON, allow bool
}

func restoreCommand(env *cliutil.Env) *cobra.Command {
	var o restoreOptions
	c := env.Command(&cobra.Command{
		Use:   "restore SLUG --at TIME|ID [--allow-secret] [--json]",
		Short: "Write an old version of a memory as a new one",
		Long: `Write an old version of a memory (see mem log) as a new one. Nothing is lost by it:
what was current becomes part of the history. A version in which something looks
like a secret is refused (see mem set).`,
		Example: `  engramctl mem restore notes --at 2026-01-31T12:00:00Z
  engramctl mem restore notes --at 5f1b8e0c9a3d2e44`,
		Args: cliutil.Arguments("SLUG"),
	}, func(ctx context.Context, args []string) error { return runRestore(ctx, env, o, args) })
	cliutil.JSONFlag(c, &o.asJSON)
	cliutil.SecretFlag(c, &o.allow)
	c.Flags().StringVar(&o.at, "at", "", "the version of `TIME` or ID")
	_ = c.MarkFlagRequired("at") // cannot fail: the flag exists
	return c
}

// runRestore writes an old version of a memory as a new one.
func runRestore(ctx context.Context, env *cliutil.Env, o restoreOptions, args []string) error {
	slug, err := cliutil.SlugArgument(args[0])
	if err != nil {
		return err
	}
	when, err := memory.ParseWhen(o.at, time.Now())
	if err != nil {
		return exit.Usagef("--at: %w", err)
	}
	return writeOne(ctx, env, o.asJSON, slug, func(ctx context.Context, m *session.Memory) (client.Entry, client.Status, error) {
		return m.Restore(ctx, slug, when, cliutil.Guard(o.allow))
	})
}
