// Package cliutil is what the commands of engramctl share: the environment of a run,
// its clients, flags, output and reports.
package cliutil

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/cli/terminal"
	"engramd/internal/client"
	"engramd/internal/platform/keychain"
	"engramd/internal/platform/processes"
	"engramd/internal/platform/service"
)

// Env is one run of the program as its commands see it.
type Env struct {
	*System
	Vars     map[string]string // the environment
	Flags    Flags
	Started  bool // a command's own code has begun: what fails now is no mistyped command line
	Progress terminal.Progress
	HideBar  func() // takes the progress bar off the terminal; nil without one
}

// DefaultTimeout bounds a command, once it has its key and its input.
const DefaultTimeout = 10 * time.Second

// New returns the environment of a run.
func New(s *System) *Env {
	own := *s
	own.Version = cmp.Or(s.Version, Unreleased)
	if s.Keychain == nil {
		own.Keychain = keychain.System{}
	}
	e := &Env{System: &own, Vars: make(map[string]string, len(s.Env))}
	for _, kv := range s.Env {
		if name, value, ok := strings.Cut(kv, "="); ok {
			e.Vars[name] = value
		}
	}
	return e
}

// On returns the same command line on another system.
func (e *Env) On(s *System) *Env {
	return &Env{System: s, Vars: e.Vars, Flags: e.Flags, Started: e.Started}
}

// Home returns the user's folder.
func (e *Env) Home() string { return cmp.Or(e.Vars["HOME"], e.Vars["USERPROFILE"]) } // the second is Windows's

// Path makes a path as given absolute.
func (e *Env) Path(p string) string {
	if e.Dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(e.Dir, p)
}

// Command gives a cobra command what it does. Its line says which arguments it takes,
// if nothing else does, and whether it has the flag --json.
func (e *Env) Command(c *cobra.Command, run func(ctx context.Context, args []string) error) *cobra.Command {
	c.DisableFlagsInUseLine = true
	if c.Args == nil {
		c.Args = argumentsOf(c.Use)
	}
	if strings.Contains(c.Use, "[--json]") {
		c.Flags().BoolVar(&e.Flags.JSON, "json", false, "print JSON")
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		e.Started = true
		return run(cmd.Context(), args)
	}
	return c
}

// Bounded begins what is limited by --timeout, and shows on a terminal that it
// goes on.
func (e *Env) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, e.Flags.Timeout)
	if e.Terminal.Stderr && !e.Flags.Verbose {
		e.HideBar = e.Progress.Show(ctx, e.Stderr, e.Flags.Timeout)
	}
	return ctx, func() {
		e.Err() // a command that prints nothing has had its bar too
		cancel()
	}
}

// Group returns a command that only has subcommands: it shows its help on
// stderr and fails, so that a script in which the subcommand is missing does
// not go on.
func Group(c *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	c.DisableFlagsInUseLine = true
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			cmd.SetOut(cmd.ErrOrStderr())
			return errors.Join(cmd.Help(), errors.New("a subcommand is missing"))
		}
		text := fmt.Sprintf("unknown command %q", args[0])
		for edits := 1; edits <= 2; edits++ {
			cmd.SuggestionsMinimumDistance = edits
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				return fmt.Errorf("%s: did you mean %q?", text, near[0])
			}
		}
		return errors.New(text)
	}
	c.AddCommand(subs...)
	return c
}

// Complain says on stderr why a command failed.
func Complain(e *Env, cmd *cobra.Command, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(e.Err(), "%s: %s\n", cmd.CommandPath(), settings.Redact(line))
	}
	if errors.As(err, &exit.UsageError{}) && !e.Started {
		fmt.Fprintf(e.Err(), "Try: %s --help\n", cmd.CommandPath())
	}
}

// System is one run of the program with everything it touches.
type System struct {
	Args     []string // without the program's name
	Env      []string // "NAME=value"
	Version  string   // of the program; "" is unreleased
	Dir      string   // what relative paths are relative to; empty: the working folder
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Terminal Terminal
	// KeyCost is the cost of encrypting a key: 2^KeyCost rounds of scrypt. 0 means
	// 16, which takes 64 MiB and a fraction of a second.
	KeyCost  uint8
	Keychain keychain.Store  // nil is the system's
	Self     string          // the path of this program; "" asks the system
	Services service.Manager // runs a relay for this user; nil is the system's
	// HookTime is how long a hook may take, but at the start of a session; 0 is
	// what the profile says.
	HookTime time.Duration
	// Slack is added to what relays, other processes and this machine's files are
	// given: a machine may be busy with other things.
	Slack time.Duration
	Near  client.Near // client.Options.Near
	// Ancestors returns the processes above this one, the nearest first; nil asks
	// the system.
	Ancestors func() []processes.Process
}

// Unreleased is the version of a build that was given none.
const Unreleased = "dev"

// Allow returns how long something may take that has so much time.
func (e *Env) Allow(d time.Duration) time.Duration { return d + e.Slack }

// Terminal says where a person sits. The zero Terminal: nowhere.
type Terminal struct {
	// Password asks for a secret without showing it; nil if nobody can be asked.
	Password func(ctx context.Context, prompt string) (string, error)
	// Line asks for a line that is no secret; nil likewise.
	Line                  func(ctx context.Context, prompt string) (string, error)
	Stdin, Stdout, Stderr bool // that stream is a terminal
}
