// Package folder says which folders of texts are an agent's own: engramctl folder.
package folder

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/files"
)

// New returns engramctl folder.
func New(env *cliutil.Env) *cobra.Command {
	return cliutil.Group(&cobra.Command{
		Use:     "folder",
		Short:   "Say which folders of texts are this agent's own",
		Long:    "Say which folders of texts are this agent's own. docs/folders.md has more.",
		Example: "  engramctl folder register ~/memory",
	}, registerCommand(env))
}

func registerCommand(env *cliutil.Env) *cobra.Command {
	var yes bool
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "register DIR [--yes]",
		Short: "Say that a folder's texts are this agent's own",
		Long: `Say that the texts in a folder are this agent's own words: engramctl import and sync take
what is in it as it is, the core, the narrative and intentions included, and so it is
told in sessions. Register a folder that you wrote, moved here or brought from another
machine of yours, and none that you were given.

A folder that engramctl export or sync began is registered already. It is known by its
path, and by a mark in DIR/.engram that only this agent and its owner can make.`,
		Example: `  engramctl folder register ~/memory`,
		Args:    cliutil.Arguments("DIR"),
	}, func(ctx context.Context, args []string) error { return files.RegisterFolder(ctx, env, args[0], yes) }))
	c.Flags().BoolVar(&yes, "yes", false, "ask nothing")
	return c
}
