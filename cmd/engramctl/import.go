package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) importCommand() *cobra.Command {
	var f fromFlags
	var yes, asJSON bool
	c := a.pairFlags(a.command(&cobra.Command{
		Use:   "import --from SOURCE PATH [--yes] [--update] [--prefix SLUG] [--trust observed] [--allow-secret] [--json]",
		Short: "Bring in what another tool remembers",
		Long:  importFromHelp(),
		Example: `  engramctl import --from claude-code ~/.claude
  engramctl import --from claude-code ~/.claude --yes
  engramctl import --from obsidian ~/Vault --prefix mem/vault --yes`,
		Args: arguments("PATH"),
	}, func(ctx context.Context, args []string) error {
		return a.importFrom(ctx, args[0], f, yes, asJSON)
	}))
	f.flags(c)
	c.Flags().BoolVar(&yes, "yes", false, "write; without it what would be written is shown")
	jsonFlag(c, &asJSON)
	return c
}
