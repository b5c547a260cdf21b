package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"engramd/cmd/engram-load/internal/load"
)

// runCommand is `engram-load run`.
func (m *Main) runCommand() *cobra.Command {
	var target load.Target
	var o load.Options
	var asJSON bool
	var auth string
	cmd := &cobra.Command{
		Use:   "run WORKLOAD --url ws://HOST:PORT",
		Short: "Run one workload and print its figures",
		Long: "run measures one workload (see engram-load workloads) and prints its figures.\n" +
			"Numbers that are not given are the workload's own. Without a figure the exit code is 1.",
		Example: "  engram-load run publish --url ws://127.0.0.1:7447 --pid $(pidof engramd)\n" +
			"  engram-load run read-head --url ws://127.0.0.1:7447 --size 100000 --connections 32 --count 40000 --json",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := load.Find(args[0])
			if err != nil {
				return err
			}
			if target.URL == "" && w.Needs != load.NeedsNoRelay {
				return usageError{fmt.Errorf("--url is missing")}
			}
			o.Auth = load.AuthMode(auth)
			r, err := w.Run(cmd.Context(), target, o)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(m.Stdout).Encode(r)
			}
			return r.WriteTable(m.Stdout)
		},
	}
	f := cmd.Flags()
	f.StringVar(&target.URL, "url", "", "the relay, ws:// or wss://")
	f.StringVar(&target.Name, "name", "", "what the result calls the relay (default its URL)")
	f.IntVar(&target.PID, "pid", 0, "the relay's process on this machine, for its CPU and memory")
	f.IntVar(&o.Count, "count", 0, "operations that are measured")
	f.IntVar(&o.Connections, "connections", 0, "connections at once")
	f.IntVar(&o.Pipeline, "pipeline", 0, "events of one connection that wait for their OK")
	f.IntVar(&o.Size, "size", 0, "events of the corpus that the relay was filled with (default 100000)")
	f.Uint64Var(&o.Seed, "seed", 1, "of keys, texts and choices")
	f.IntVar(&o.Warmup, "warmup", 0, "operations before the clock starts; -1 is none")
	f.Float64Var(&o.Rate, "rate", 0, "events per second, for workloads that publish at a rate")
	f.IntVar(&o.Subscriptions, "subscriptions", 0, "subscriptions of live-wide, all connections together")
	f.StringVar(&o.Exec, "exec", "", "command line that import and disk run; {data} is a new folder, {file} the file of events")
	f.StringVar(&o.Check, "check", "", "command line that prints what is stored then, as JSON Lines")
	f.DurationVar(&o.Timeout, "timeout", 0, "for the whole run (default 2m)")
	f.StringVar(&auth, "auth", "", "NIP-42: auto, never or require (default auto)")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	cacheFlag(cmd, &o.Cache)
	return cmd
}
