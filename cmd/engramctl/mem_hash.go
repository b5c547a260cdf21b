package main

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/client"
)

func (a *app) memHashCommand() *cobra.Command {
	return a.command(&cobra.Command{
		Use:   "hash SLUG",
		Short: "Print the hash of a memory, for --base",
		Long: `Print the SHA-256 of a memory's text in hex: what --base of mem set and mem patch
takes, and what sha256sum says of the output of mem get.`,
		Example: `  base=$(engramctl mem hash notes)
  engramctl mem get notes | sha256sum`,
		Args: arguments("SLUG"),
	}, func(ctx context.Context, args []string) error {
		slug, err := slugArgument(args[0])
		if err != nil {
			return err
		}
		return a.withMemory(ctx, func(ctx context.Context, m *client.Memory) error {
			entry, status, err := m.Get(ctx, slug)
			if err := a.report(status, about(slug, entry, err)); err != nil {
				return err
			}
			return a.print("%s\n", entry.Hash)
		})
	})
}
