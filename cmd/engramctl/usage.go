package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// printUsage is cobra's own usage, but for groups: they run, to say what is
// missing, but are no commands. It is code and no template, because a program
// that can execute templates keeps every method of everything that it links.
func printUsage(c *cobra.Command) error {
	w := c.OutOrStderr()
	group := c.HasAvailableSubCommands()
	fmt.Fprint(w, "Usage:")
	if group {
		fmt.Fprintf(w, "\n  %s [command]", c.CommandPath())
	} else {
		fmt.Fprintf(w, "\n  %s", c.UseLine())
	}
	if len(c.Aliases) > 0 {
		fmt.Fprintf(w, "\n\nAliases:\n  %s", c.NameAndAliases())
	}
	if c.HasExample() {
		fmt.Fprintf(w, "\n\nExamples:\n%s", c.Example)
	}
	if group {
		fmt.Fprint(w, "\n\nAvailable Commands:")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(w, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(w, "\n\nFlags:\n%s", strings.TrimRight(c.LocalFlags().FlagUsages(), " \n"))
	}
	if c.HasAvailableInheritedFlags() {
		fmt.Fprintf(w, "\n\nGlobal Flags:\n%s", strings.TrimRight(c.InheritedFlags().FlagUsages(), " \n"))
	}
	if group {
		fmt.Fprintf(w, "\n\nUse \"%s [command] --help\" for more information about a command.", c.CommandPath())
	}
	_, err := fmt.Fprintln(w)
	return err
}
