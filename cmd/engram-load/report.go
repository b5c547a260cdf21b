package main

import (
	"github.com/spf13/cobra"

	"engramd/cmd/engram-load/internal/bench"
	"engramd/cmd/engram-load/internal/report"
)

// reportCommand is `engram-load report`.
func (m *Main) reportCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "report RESULTS --out FILE.md",
		Short: "Make a page and a CSV of a bench",
		Long: "report writes a page of Markdown, and all figures (figures.csv) into a folder beside it that is named\n" +
			"like the page. The page links to the folder's other pages.",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := bench.ReadResults(args[0])
			if err != nil {
				return err
			}
			return report.Write(r, out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "benchmarks.md", "the page")
	return cmd
}
