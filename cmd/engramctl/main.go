// Command engramctl is what an agent, its owner or a harness runs against
// relays that keep the agent's memory (NIP-AE). Its commands are in internal/cli;
// what is done on the wire is in internal/client.
package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/term"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/root"
	"engramd/internal/cli/terminal"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version string

func main() { os.Exit(runProcess(ofProcess())) }

// runProcess runs until it is done or a signal ends it, and returns the exit code.
func runProcess(m *root.Main) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if slices.Contains(m.Args, "hook") {
		signal.Ignore(syscall.SIGPIPE) // a hook whose reader is gone ends as any other
	}
	return m.Run(ctx)
}

// ofProcess is the run that this process was started for.
func ofProcess() *root.Main {
	return &root.Main{
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
