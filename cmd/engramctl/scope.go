package main

import "github.com/spf13/cobra"

// allProjectsFlag is --all-projects.
func allProjectsFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "all-projects", false, "the memory of other projects too")
}

// noteOthers says how many memories were left out because of the project they are of.
func (a *app) noteOthers(n int) {
	if n > 0 {
		a.Note("%d in other projects (--all-projects)", n)
	}
}
