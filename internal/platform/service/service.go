// Package service has a user's own service manager run a relay: systemd on Linux,
// launchd on macOS. It writes one file, tells the manager of it, and knows nothing
// else of the relay.
package service

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"strings"
)

// ErrNone means that nobody runs services for this user here.
var ErrNone = errors.New("there is no service manager for this user")

// Spec is what is to run.
type Spec struct {
	Program string // absolute
	Args    []string
}

// Manager runs one service for the user.
type Manager interface {
	// Ready returns nil if the manager answers, else ErrNone with the reason.
	Ready(ctx context.Context) error
	// File is where the service is described, and Text what stands there.
	File() string
	Text(Spec) (string, error)
	// Start makes the manager run what File says, now and from each login on;
	// started before, it is started anew.
	Start(ctx context.Context) error
	// Stop is the command line that ends it for good, for people.
	Stop() string
}

// written begins the comment by which a description is known as ours.
const written = "Written by engramctl setup"

// Ours reports whether engramctl wrote a description; one that a person wrote is
// not to be written over.
func Ours(text string) bool { return strings.Contains(text, written) }

// Command runs a program and returns what it printed.
type Command func(ctx context.Context, program string, args ...string) (string, error)

// Place is where the files of the user lie.
type Place struct {
	Home   string
	Config string // XDG_CONFIG_HOME, or its default
	State  string // for the log
	User   int    // id
}

// System returns the manager of this system.
func System(p Place) Manager {
	switch runtime.GOOS {
	case "linux":
		return Systemd{Place: p, Run: run}
	case "darwin":
		return Launchd{Place: p, Run: run}
	}
	return None{}
}

// run runs a program with the user's environment.
func run(ctx context.Context, program string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// None is where there is no manager that is known here.
type None struct{}

// Ready returns ErrNone.
func (None) Ready(context.Context) error { return ErrNone }

// File returns nothing.
func (None) File() string { return "" }

// Text returns ErrNone.
func (None) Text(Spec) (string, error) { return "", ErrNone }

// Start returns ErrNone.
func (None) Start(context.Context) error { return ErrNone }

// Stop returns nothing.
func (None) Stop() string { return "" }

// oneLine reports whether a text can stand in a line of a file.
func oneLine(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}
