package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/client"
)

// app is one run: what the commands share.
type app struct {
	*Main
	flags    globalFlags
	env      map[string]string
	progress progress
	hideBar  func() // takes the progress bar off the terminal; nil without one
	// noDiscovery says not to look for the agent's own list of relays;
	// discoveryChosen that a profile says what it is good for.
	noDiscovery, discoveryChosen bool
	// patient says that every relay is waited for: what is done rests on all of
	// them.
	patient bool
	limits  client.Limits // of what a relay may answer; zero: as usual
	// wrote is the local copy that is open, and memory whose memory it is that is
	// written to.
	wrote  atomic.Pointer[localCopy]
	memory atomic.Pointer[client.Memory]
	log    *slog.Logger // of a server; nil for a command
	// telling says that what a hook tells is noted as told, and after what it does
	// once it has.
	telling atomic.Bool
	afterMu sync.Mutex
	after   []func()
	started bool // a command's own code has begun: what fails now is no mistyped command line
	logs    logs
	bulk    *bulk // collects writes for the local copy; nil: each by itself
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

func newApp(m *Main) *app {
	a := &app{Main: m, env: make(map[string]string, len(m.Env))}
	for _, kv := range m.Env {
		if name, value, ok := strings.Cut(kv, "="); ok {
			a.env[name] = value
		}
	}
	return a
}

// home returns the user's folder.
func (a *app) home() string { return cmp.Or(a.env["HOME"], a.env["USERPROFILE"]) } // the second is Windows's

// path makes a path as given absolute.
func (a *app) path(p string) string {
	if a.Dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(a.Dir, p)
}

// command gives a cobra command what it does.
func (a *app) command(c *cobra.Command, run func(ctx context.Context, args []string) error) *cobra.Command {
	c.DisableFlagsInUseLine = true
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a.started = true
		return run(cmd.Context(), args)
	}
	return c
}

// group returns a command that only has subcommands: it shows its help on
// stderr and fails, so that a script in which the subcommand is missing does
// not go on.
func (a *app) group(c *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	c.DisableFlagsInUseLine = true
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			cmd.SetOut(a.Stderr)
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

// connect makes a client of the key and the relays that are configured. It asks
// for the password of an encrypted key, and connects to nothing yet. Close the
// client at the end.
func (a *app) connect(ctx context.Context) (*client.Client, settings, error) {
	s, err := a.settings()
	if err != nil {
		return nil, s, err
	}
	if len(s.relays) == 0 {
		return nil, s, usagef("no relay is configured: give --relay, set ENGRAM_RELAYS, or name relays in a profile")
	}
	id, err := a.identity(ctx, s)
	if err != nil {
		return nil, s, err
	}
	ignore, err := a.ignoredRelays()
	if err != nil {
		return nil, s, err
	}
	a.noDiscovery = a.flags.noDiscovery || s.named || s.discovery == "off"
	a.discoveryChosen = s.discovery != ""
	return client.New(id, client.Options{Relays: s.relays, Patient: a.flags.strict || a.patient, Timeout: a.flags.timeout, Grace: a.Slack, Trace: a.trace(),
		Limits: a.limits, Ignore: ignore, WriteListed: s.discovery == "write", Decider: s.decider, Owner: s.own.owner, Agent: s.own.agent, Stored: a.stored, Links: a.linksOf}), s, nil
}

// open is connect for a pair. NIP-65 is not looked at yet: see discover.
func (a *app) open(ctx context.Context) (*client.Client, *client.Memory, error) {
	s, err := a.settings()
	if err != nil {
		return nil, nil, err
	}
	if s.owner == "" && s.agent == "" {
		return nil, nil, usagef("whose memory? An agent names its owner (--owner or ENGRAM_OWNER); an owner names the agent to read (--agent or ENGRAM_AGENT)")
	}
	c, s, err := a.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	var m *client.Memory
	if s.agent != "" {
		m, err = c.AsOwner(s.agent)
	} else {
		m, err = c.AsAgent(s.owner)
	}
	if err != nil {
		c.Close()
		return nil, nil, usageError{err}
	}
	a.memory.Store(m)
	return c, m, nil
}

// discover makes the client ask the agent's own relays (NIP-65) too, if it has
// a list, unless the command line names the relays or says not to look.
func (a *app) discover(ctx context.Context, c *client.Client, agent string) error {
	if a.noDiscovery {
		return nil
	}
	if err := c.Discover(ctx, agent); err != nil {
		return err
	}
	if left := c.LeftOut(); len(left) > 0 && !a.discoveryChosen {
		a.note("the agent's own list of relays (NIP-65) does not name %s: clients that go by the list find nothing that is only there (discovery in a profile says that this is meant; engramctl relays set writes the list)",
			strings.Join(left, " and "))
	}
	return nil
}

// withMemory runs do on the pair's memory, within the time limit, which begins
// once the key is there.
func (a *app) withMemory(ctx context.Context, do func(ctx context.Context, m *client.Memory) error) error {
	return a.within(ctx, false, do)
}

// withOwnMemory is withMemory for commands that write: an owner is told at
// once.
func (a *app) withOwnMemory(ctx context.Context, do func(ctx context.Context, m *client.Memory) error) error {
	return a.within(ctx, true, do)
}

func (a *app) within(ctx context.Context, write bool, do func(ctx context.Context, m *client.Memory) error) error {
	c, m, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if write && !m.Writable() {
		return client.ErrReadOnly
	}
	ctx, done := a.bounded(ctx)
	defer done()
	if err := a.discover(ctx, c, m.Agent()); err != nil {
		return err
	}
	return do(ctx, m)
}

// bounded begins what is limited by --timeout, and shows on a terminal that it
// goes on.
func (a *app) bounded(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, a.flags.timeout)
	if a.Terminal.Stderr && !a.flags.verbose {
		a.hideBar = a.progress.show(ctx, a.Stderr, a.flags.timeout)
	}
	return ctx, func() {
		a.err() // a command that prints nothing has had its bar too
		cancel()
	}
}
