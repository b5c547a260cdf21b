package main

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/client"
	"engramd/internal/platform/keychain"
)

// Env is one run of the program as its commands see it.
type Env struct {
	*System
	env     map[string]string // the environment
	flags   globalFlags
	started bool // a command's own code has begun: what fails now is no mistyped command line
	// patient says that every relay is waited for: the result rests on all of them.
	patient  bool
	limits   client.Limits         // of what a relay may answer; zero: as usual
	options  func(*client.Options) // adds to what clients are made of; nil adds nothing
	progress progress
	hideBar  func() // takes the progress bar off the terminal; nil without one
	// noDiscovery says not to look for the agent's own list of relays;
	// discoveryChosen that a profile says what it is good for.
	noDiscovery, discoveryChosen bool
}

// globalFlags are those that commands share.
type globalFlags struct {
	config, profile, keyFile string
	relays                   []string
	timeout                  time.Duration
	verbose, noDiscovery     bool
	owner, agent             string
	strict, noMirror         bool
	poster                   string
	attest                   *bool // nil: as the profile has it
}

// defaultTimeout bounds a command, once it has its key and its input.
const defaultTimeout = 10 * time.Second

// NewEnv returns the environment of a run.
func NewEnv(s *System) *Env {
	own := *s
	own.Version = cmp.Or(s.Version, unreleased)
	if s.Keychain == nil {
		own.Keychain = keychain.System{}
	}
	e := &Env{System: &own, env: make(map[string]string, len(s.Env))}
	for _, kv := range s.Env {
		if name, value, ok := strings.Cut(kv, "="); ok {
			e.env[name] = value
		}
	}
	return e
}

// on returns the same command line on another system.
func (e *Env) on(s *System) *Env {
	return &Env{System: s, env: e.env, flags: e.flags, started: e.started}
}

// home returns the user's folder.
func (e *Env) home() string { return cmp.Or(e.env["HOME"], e.env["USERPROFILE"]) } // the second is Windows's

// path makes a path as given absolute.
func (e *Env) path(p string) string {
	if e.Dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(e.Dir, p)
}

// command gives a cobra command what it does.
func (e *Env) command(c *cobra.Command, run func(ctx context.Context, args []string) error) *cobra.Command {
	c.DisableFlagsInUseLine = true
	c.RunE = func(cmd *cobra.Command, args []string) error {
		e.started = true
		return run(cmd.Context(), args)
	}
	return c
}

// bounded begins what is limited by --timeout, and shows on a terminal that it
// goes on.
func (e *Env) bounded(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, e.flags.timeout)
	if e.Terminal.Stderr && !e.flags.verbose {
		e.hideBar = e.progress.show(ctx, e.Stderr, e.flags.timeout)
	}
	return ctx, func() {
		e.err() // a command that prints nothing has had its bar too
		cancel()
	}
}
