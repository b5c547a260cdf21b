package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"engramd/cmd/engram-load/internal/bench"
)

// benchCommand is `engram-load bench`.
func (m *Main) benchCommand() *cobra.Command {
	var config string
	o := bench.Options{Progress: m.Stderr}
	cmd := &cobra.Command{
		Use:   "bench --config FILE --out FILE",
		Short: "Measure several relays in turn, as a file says",
		Long: "bench starts the servers of a TOML file one after the other, over empty folders or ones that it filled before,\n" +
			"and runs the workloads against them: round by round, all servers in each. Results are written after each run;\n" +
			"--resume does what is left after an end that was not planned. engram-load report makes a page of them.",
		Example: "  engram-load bench --config cmd/engram-load/peers/bench.toml --out results.json\n" +
			"  engram-load bench --config cmd/engram-load/peers/bench.toml --out results.json --quick --servers engramd,null",
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if config == "" || o.Out == "" {
				return usageError{errors.New("--config and --out are needed")}
			}
			c, err := bench.ReadConfig(config)
			if err != nil {
				return err
			}
			o.Config = c
			r, err := bench.Compare(cmd.Context(), o)
			if err != nil {
				return err
			}
			fmt.Fprintf(m.Stderr, "%d runs are in %s\n", len(r.Runs), o.Out)
			if n := r.Failures(c.Subject); n > 0 {
				return fmt.Errorf("%d runs of %s failed", n, c.Subject)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&config, "config", "", "TOML file that names servers, measures and targets")
	f.StringVar(&o.Out, "out", "", "file of results (JSON)")
	f.BoolVar(&o.Choice.Quick, "quick", false, "the short form: few operations, one small corpus")
	f.IntVar(&o.Choice.Rounds, "rounds", 0, "rounds instead of those of the file")
	f.StringSliceVar(&o.Choice.Servers, "servers", nil, "only these servers")
	f.StringSliceVar(&o.Choice.Measures, "workloads", nil, "only these measures")
	f.IntSliceVar(&o.Choice.Sizes, "sizes", nil, "only corpora of these sizes")
	f.BoolVar(&o.Resume, "resume", false, "keep what the file of results has, and do the rest; failures are done again")
	cacheFlag(cmd, &o.Cache)
	return cmd
}

// isBenchUsage reports whether a bench cannot begin because of what it was
// told.
func isBenchUsage(err error) bool {
	return errors.Is(err, bench.ErrConfig) || errors.Is(err, bench.ErrResume)
}
