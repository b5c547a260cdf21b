package main

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
)

// app is one run: what the commands share.
type app struct {
	*cliutil.Env
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
	logs    logs
	bulk    *bulk // collects writes for the local copy; nil: each by itself
}

func newApp(s *cliutil.System) *app { return appOf(cliutil.New(s)) }

func appOf(e *cliutil.Env) *app {
	a := &app{Env: e}
	a.Options = func(o *client.Options) { o.Stored, o.Links = a.stored, a.linksOf }
	return a
}

// open is connect for a pair. NIP-65 is not looked at yet: see discover.
func (a *app) open(ctx context.Context) (*client.Client, *client.Memory, error) {
	s, err := a.Settings()
	if err != nil {
		return nil, nil, err
	}
	if s.Owner == "" && s.Agent == "" {
		return nil, nil, exit.Usagef("whose memory? An agent names its owner (--owner or ENGRAM_OWNER); an owner names the agent to read (--agent or ENGRAM_AGENT)")
	}
	c, s, err := a.Client(ctx)
	if err != nil {
		return nil, nil, err
	}
	var m *client.Memory
	if s.Agent != "" {
		m, err = c.AsOwner(s.Agent)
	} else {
		m, err = c.AsAgent(s.Owner)
	}
	if err != nil {
		c.Close()
		return nil, nil, exit.BadUsage(err)
	}
	a.memory.Store(m)
	return c, m, nil
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
	ctx, done := a.Bounded(ctx)
	defer done()
	if err := a.Discover(ctx, c, m.Agent()); err != nil {
		return err
	}
	return do(ctx, m)
}
