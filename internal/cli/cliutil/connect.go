package cliutil

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
)

// Client makes a client of the key and the relays that are configured. It asks
// for the password of an encrypted key, and connects to nothing yet. Close the
// client at the end.
func (e *Env) Client(ctx context.Context) (*client.Client, settings.Settings, error) {
	s, err := e.Settings()
	if err != nil {
		return nil, s, err
	}
	if len(s.Relays) == 0 {
		return nil, s, exit.Usagef("no relay is configured: give --relay, set ENGRAM_RELAYS, or name relays in a profile")
	}
	id, err := e.Identity(ctx, s)
	if err != nil {
		return nil, s, err
	}
	ignore, err := IgnoredRelays(e)
	if err != nil {
		return nil, s, err
	}
	e.NoDiscovery = e.Flags.NoDiscovery || s.Named || s.Discovery == "off"
	e.discoveryChosen = s.Discovery != ""
	o := client.Options{Relays: s.Relays, Patient: e.Flags.Strict || e.Patient, Timeout: e.Flags.Timeout, Grace: e.Slack, Trace: e.Trace(),
		Limits: e.Limits, Ignore: ignore, WriteListed: s.Discovery == "write", Decider: s.Decider, Owner: s.Own.Owner, Agent: s.Own.Agent}
	if e.Options != nil {
		e.Options(&o)
	}
	return client.New(id, o), s, nil
}

// Memory is Client for a pair. NIP-65 is not looked at yet: see Discover.
func (e *Env) Memory(ctx context.Context) (*client.Client, *client.Memory, error) {
	s, err := e.Settings()
	if err != nil {
		return nil, nil, err
	}
	if s.Owner == "" && s.Agent == "" {
		return nil, nil, exit.Usagef("whose memory? An agent names its owner (--owner or ENGRAM_OWNER); an owner names the agent to read (--agent or ENGRAM_AGENT)")
	}
	c, s, err := e.Client(ctx)
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
	return c, m, nil
}

// Discover makes the client ask the agent's own relays (NIP-65) too, if it has
// a list, unless the command line names the relays or says not to look.
func (e *Env) Discover(ctx context.Context, c *client.Client, agent string) error {
	if e.NoDiscovery {
		return nil
	}
	if err := c.Discover(ctx, agent); err != nil {
		return err
	}
	if left := c.LeftOut(); len(left) > 0 && !e.discoveryChosen {
		e.Note("the agent's own list of relays (NIP-65) does not name %s: clients that go by the list find nothing that is only there (discovery in a profile says that this is meant; engramctl relays set writes the list)",
			strings.Join(left, " and "))
	}
	return nil
}

// IgnoredPath returns the file of ignored relays.
func IgnoredPath(e *Env) string {
	path, _ := e.ConfigPath()
	return filepath.Join(filepath.Dir(path), "ignored-relays")
}

// IgnoredRelays reads it; without a file there are none.
func IgnoredRelays(e *Env) ([]string, error) {
	text, err := os.ReadFile(IgnoredPath(e))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ignored relays: %w", err)
	}
	return strings.Fields(string(text)), nil
}
