package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"engramd/cmd/engram-load/internal/load"
)

// prepareCommand is `engram-load prepare`.
func (m *Main) prepareCommand() *cobra.Command {
	var cache string
	var size int
	var seed uint64
	cmd := &cobra.Command{
		Use:   "prepare --size N",
		Short: "Make the events that a relay is filled with, and print their file",
		Long: "prepare signs a corpus, half notes and half engrams, and prints where it is: JSON Lines, oldest event first.\n" +
			"What is in the cache already is not made again. Fill a relay with the file, or with engram-load run fill.",
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := load.PrepareCorpus(cmd.Context(), cache, size, seed)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(m.Stdout, c.Path)
			return err
		},
	}
	cmd.Flags().IntVar(&size, "size", 100_000, "events")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "of keys and texts")
	cacheFlag(cmd, &cache)
	return cmd
}
