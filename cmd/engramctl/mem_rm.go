package main

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/client"
)

func (a *app) memRmCommand() *cobra.Command {
	var asJSON bool
	c := a.command(&cobra.Command{
		Use:   "rm SLUG [--json]",
		Short: "Remove a memory",
		Long: `Remove a memory: a tombstone is written over it. What it was stays in the relays'
history for a while (mem log, mem restore). The core cannot be removed, only
written anew. Exit code 1 if there is nothing to remove.`,
		Example: `  engramctl mem rm notes`,
		Args:    arguments("SLUG"),
	}, func(ctx context.Context, args []string) error {
		slug, err := slugArgument(args[0])
		if err != nil {
			return err
		}
		if slug.IsCore() {
			return usageError{client.ErrCore}
		}
		return a.withOwnMemory(ctx, func(ctx context.Context, m *client.Memory) error {
			status, err := m.Remove(ctx, slug)
			if err := a.report(status, explained(err)); err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(struct {
					answerOut
					Slug    string `json:"slug"`
					Removed bool   `json:"removed"`
				}{answerOf(m, status), string(slug), true})
			}
			return a.print("%s  removed\n", slug)
		})
	})
	jsonFlag(c, &asJSON)
	return c
}
