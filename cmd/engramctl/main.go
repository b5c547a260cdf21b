// Command engramctl is what an agent, its owner or a harness runs against
// relays that keep the agent's memory (NIP-AE). This package reads command
// lines and prints; what is done on the wire is in internal/client.
package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/session"
	"engramd/internal/cli/terminal"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version string

func main() { os.Exit(runProcess(ofProcess())) }

// runProcess runs until it is done or a signal ends it, and returns the exit code.
func runProcess(m *Main) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if slices.Contains(m.Args, "hook") {
		signal.Ignore(syscall.SIGPIPE) // a hook whose reader is gone ends as any other
	}
	return m.Run(ctx)
}

// ofProcess is the run that this process was started for.
func ofProcess() *Main {
	return &Main{
		Args: os.Args[1:], Env: os.Environ(), Version: version, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Terminal: cliutil.Terminal{
			Password: terminal.AskPassword,
			Line:     terminal.AskLine,
			Stdin:    term.IsTerminal(int(os.Stdin.Fd())),
			Stdout:   term.IsTerminal(int(os.Stdout.Fd())),
			Stderr:   term.IsTerminal(int(os.Stderr.Fd())),
		},
	}
}

// Main is one run of the program.
type Main cliutil.System

// Run runs the command that Args name and returns the exit code.
func (m *Main) Run(ctx context.Context) int {
	a := newApp((*cliutil.System)(m))
	root := a.root()
	root.SetArgs(withTexts(root, m.Args))
	execute := func() (*cobra.Command, error) {
		cmd, err := root.ExecuteContextC(ctx)
		if err != nil && !a.Started {
			err = exit.BadUsage(err) // cobra did not get as far as the command
		}
		return cmd, err
	}
	other := func(word string) bool {
		return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
	}
	if session.IsHook(m.Args, other) {
		return session.RunHook(a.Env, execute)
	}
	cmd, err := execute()
	if err == nil {
		return exit.OK
	}
	code := exit.CodeOf(err)
	if ctx.Err() != nil {
		code = exit.Interrupted
	}
	cliutil.Complain(a.Env, cmd, err)
	return code
}
