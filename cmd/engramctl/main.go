// Command engramctl is what an agent, its owner or a harness runs against
// relays that keep the agent's memory (NIP-AE). This package reads command
// lines and prints; what is done on the wire is in internal/client.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"engramd/internal/platform/keychain"
	"engramd/internal/platform/service"
)

// unreleased is the version of a build that was given none.
const unreleased = "dev"

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version = unreleased

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
		Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Terminal: Terminal{
			Password: askPassword,
			Line:     askLine,
			Stdin:    term.IsTerminal(int(os.Stdin.Fd())),
			Stdout:   term.IsTerminal(int(os.Stdout.Fd())),
			Stderr:   term.IsTerminal(int(os.Stderr.Fd())),
		},
	}
}

// Main is one run of the program with everything it touches.
type Main struct {
	Args     []string // without the program's name
	Env      []string // "NAME=value"
	Dir      string   // what relative paths are relative to; empty: the working folder
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Terminal Terminal
	// KeyCost is the cost of encrypting a key: 2^KeyCost rounds of scrypt. 0 means
	// 16, which takes 64 MiB and a fraction of a second.
	KeyCost uint8
	// Keychain is the system's key store; nil is the true one.
	Keychain keychain.Store
	// Self is the path of this program; "" asks the system.
	Self string
	// Services runs a relay for this user; nil is the system's.
	Services service.Manager
	// HookTime is how long a hook may take, but at the start of a session; 0 is
	// hookBudget.
	HookTime time.Duration
	// Slack is added to what relays, other processes and this machine's files are
	// given: a machine may be busy with other things.
	Slack time.Duration
	// Ancestors returns the processes above this one, the nearest first; nil asks
	// the system.
	Ancestors func() []Process
}

// allow returns how long something may take that has so much time.
func (m *Main) allow(d time.Duration) time.Duration { return d + m.Slack }

// Terminal says where a person sits. The zero Terminal: nowhere.
type Terminal struct {
	// Password asks for a secret without showing it; nil if nobody can be asked.
	Password func(ctx context.Context, prompt string) (string, error)
	// Line asks for a line that is no secret; nil likewise.
	Line                  func(ctx context.Context, prompt string) (string, error)
	Stdin, Stdout, Stderr bool // that stream is a terminal
}

// Run runs the command that Args name and returns the exit code.
func (m *Main) Run(ctx context.Context) int {
	a := newApp(m)
	defer a.closeLogs()
	root := a.root()
	root.SetArgs(withTexts(root, m.Args))
	execute := func() (*cobra.Command, error) {
		cmd, err := root.ExecuteContextC(ctx)
		if err != nil && !a.started {
			err = usageError{err} // cobra did not get as far as the command
		}
		return cmd, err
	}
	other := func(word string) bool {
		return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
	}
	if isHook(m.Args, other) {
		return a.runHook(execute)
	}
	cmd, err := execute()
	if err == nil {
		return exitOK
	}
	code := codeOf(err)
	if ctx.Err() != nil {
		code = exitInterrupted
	}
	a.complain(cmd, err)
	return code
}
