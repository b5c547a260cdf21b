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
	id, o, s, err := e.clientOptions(ctx)
	if err != nil {
		return nil, s, err
	}
	o.Patient = e.Flags.Strict
	return client.New(id, o), s, nil
}

// clientOptions are the key, and what the configuration says of the relays.
func (e *Env) clientOptions(ctx context.Context) (id client.Identity, o client.Options, s settings.Settings, err error) {
	if s, err = e.Settings(); err != nil {
		return id, o, s, err
	}
	if len(s.Relays) == 0 {
		return id, o, s, exit.Usagef("no relay is configured: give --relay, set ENGRAM_RELAYS, or name relays in a profile")
	}
	if id, err = e.Identity(ctx, s); err != nil {
		return id, o, s, err
	}
	ignore, err := IgnoredRelays(e)
	return id, client.Options{Relays: s.Relays, Timeout: e.Flags.Timeout, Grace: e.Slack, Trace: e.Trace(),
		Ignore: ignore, WriteListed: s.Discovery == "write", Decider: s.Decider, Owner: s.Own.Owner, Agent: s.Own.Agent}, s, err
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
