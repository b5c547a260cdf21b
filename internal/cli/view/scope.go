package view

import (
	"engramd/internal/cli/cliutil"

	"github.com/spf13/cobra"
)

// AllProjectsFlag is --all-projects.
func AllProjectsFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "all-projects", false, "the memory of other projects too")
}

// NoteOthers says how many memories were left out because of the project they are of.
func NoteOthers(env *cliutil.Env, n int) {
	if n > 0 {
		env.Note("%d in other projects (--all-projects)", n)
	}
}
