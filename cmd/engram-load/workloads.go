package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"engramd/cmd/engram-load/internal/load"
)

// workloadsCommand is `engram-load workloads`.
func (m *Main) workloadsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "workloads",
		Short: "List what can be measured",
		Args:  arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			t := tabwriter.NewWriter(m.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "NAME\tFIGURE\tRELAY HOLDS\tWHAT")
			for _, w := range load.Workloads() {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", w.Name, w.Unit, w.Needs, w.Help)
			}
			return t.Flush()
		},
	}
}
