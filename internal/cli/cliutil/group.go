package cliutil

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Group returns a command that only has subcommands: it shows its help on
// stderr and fails, so that a script in which the subcommand is missing does
// not go on.
func Group(c *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	c.DisableFlagsInUseLine = true
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			cmd.SetOut(cmd.ErrOrStderr())
			return errors.Join(cmd.Help(), errors.New("a subcommand is missing"))
		}
		text := fmt.Sprintf("unknown command %q", args[0])
		for edits := 1; edits <= 2; edits++ {
			cmd.SuggestionsMinimumDistance = edits
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				return fmt.Errorf("%s: did you mean %q?", text, near[0])
			}
		}
		return errors.New(text)
	}
	c.AddCommand(subs...)
	return c
}
