package mem

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
)

func memHashCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "hash SLUG",
		Short: "Print the hash of a memory, for --base",
		Long: `Print the SHA-256 of a memory's text in hex: what --base of mem set and mem patch
takes, and what sha256sum says of the output of mem get.`,
		Example: `  base=$(engramctl mem hash notes)
  engramctl mem get notes | sha256sum`,
		Args: cliutil.Arguments("SLUG"),
	}, func(ctx context.Context, args []string) error {
		slug, err := cliutil.SlugArgument(args[0])
		if err != nil {
			return err
		}
		return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			entry, status, err := m.Get(ctx, slug)
			if err := env.Report(status, cliutil.About(slug, entry, err)); err != nil {
				return err
			}
			return env.Print("%s\n", entry.Hash)
		})
	})
}
