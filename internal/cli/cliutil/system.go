package cliutil

import (
	"context"
	"io"
	"time"

	"engramd/internal/platform/keychain"
	"engramd/internal/platform/processes"
	"engramd/internal/platform/service"
)

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
	KeyCost uint8
	// Keychain is the system's key store; nil is the system's.
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
