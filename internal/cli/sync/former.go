package sync

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
)

// NewFormer is what sync without arguments was called in the first
// release.
func NewFormer(env *cliutil.Env) *cobra.Command {
	var o options
	return env.Command(&cobra.Command{
		Use:     "sync [--json]",
		Short:   "The former name of engramctl sync without relays",
		Long:    `The former name of engramctl sync without relays. It does the same, prints the same, and says so.`,
		Example: `  engramctl relays sync`,
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		env.Note("relays sync is called sync now: engramctl sync")
		return syncBetween(ctx, env, nil, o)
	})
}
