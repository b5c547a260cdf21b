package main

import (
	"engramd/internal/cli/cliutil"

	"github.com/spf13/cobra"
)

// allProjectsFlag is --all-projects.
func allProjectsFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "all-projects", false, "the memory of other projects too")
}

// noteOthers says how many memories were left out because of the project they are of.
func noteOthers(env *cliutil.Env, n int) {
	if n > 0 {
		env.Note("%d in other projects (--all-projects)", n)
	}
}
