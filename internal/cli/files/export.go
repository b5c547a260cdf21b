// Package files has the commands that bring a memory into files, and files into a
// memory: engramctl export, import and sync DIR.
package files

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/memory/folder"
)

// NewExport returns the command export.
func NewExport(env *cliutil.Env) *cobra.Command {
	var f Options
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "export DIR [--yes] [--dry-run] [--delete] [--all] [--json]",
		Short: "Write the memory into a folder of text files",
		Long: `Write the memory into a folder, each text as it is, byte for byte: DIR/core.md,
DIR/mem/people/ana.md and so on, and DIR/index.md with a title for each. Links like
[[mem/people/ana]] lead there in Obsidian. The key may be the owner's.

The first run with a folder only shows what it would do; --yes does it. What was written
is known in DIR/.engram/state.json. Files that were changed since are left alone: if the
memory was changed too, its text is put beside the file as NAME.conflict.md (exit code
5). With --delete a file goes whose memory was removed, if it is as it was and every
relay says so. --all also writes what programs keep (mem/sys/ and so on).

It is clear text: new files and folders are for their user alone, and a folder in a git
work tree is warned of. docs/folders.md has more.`,
		Example: `  engramctl export ~/memory --yes
  grep -ril atlas ~/memory`,
		Args: cliutil.Arguments("DIR"),
	}, func(ctx context.Context, args []string) error { return runFolder(ctx, env, folder.Export, args[0], f) }))
	f.Add(c, folder.Export)
	c.Flags().BoolVar(&f.all, "all", false, "what programs keep, too (mem/sys/, mem/proposals/, mem/proposals-answers/)")
	return c
}
