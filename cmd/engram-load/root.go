package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"engramd/cmd/engram-load/internal/load"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // no figure: a wrong answer, a refusal, silence, a file
	exitUsage  = 2
)

// Run runs the command that Args name and returns the exit code.
func (m *Main) Run(ctx context.Context) int {
	root := m.root()
	root.SetArgs(m.Args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(m.Stderr, "%s: %v\n", cmd.CommandPath(), err)
	if !m.started || isUsage(err) {
		return exitUsage
	}
	return exitFailed
}

func (m *Main) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "engram-load",
		Short: "Measure a Nostr relay",
		Long: "engram-load measures a Nostr relay by its URL, and checks everything the relay answers:\n" +
			"a relay that answers wrongly has no speed. docs/engram-load.md says how to measure with it.",
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRun: func(*cobra.Command, []string) { m.started = true },
	}
	root.SetOut(m.Stdout)
	root.SetErr(m.Stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(m.runCommand(), m.prepareCommand(), m.workloadsCommand(), m.benchCommand(), m.reportCommand(), m.recallCommand())
	return root
}

// usageError is a command line that makes no sense.
type usageError struct{ error }

// Unwrap returns what is wrong with it.
func (e usageError) Unwrap() error { return e.error }

func isUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage) || errors.Is(err, load.ErrOptions) || errors.Is(err, load.ErrUnknown) || isBenchUsage(err)
}

// arguments is check as an error of the command line.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// cacheFlag declares --cache.
func cacheFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "cache", defaultCache(), "folder of the events that are signed ahead of time")
}

// defaultCache returns a folder of the user's cache; of the system's temporary
// files, where there is none.
func defaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "engram-load")
}
