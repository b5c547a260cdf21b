package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/config"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/daemon/authority"
	"engramd/internal/relay/keys"
	"engramd/internal/relay/keys/keyfile"
)

// admit has a token make this machine one of the cluster, and joins when the log is
// there. What it made stays: join --config goes on with it.
func (c *clusterCommand) admit(ctx context.Context, text string) error {
	t, err := authority.ParseToken(text)
	if err != nil {
		return err
	}
	data, err := filepath.Abs(c.cfg.Data)
	if err != nil {
		return err
	}
	m := authority.Machine{Dir: filepath.Join(data, clusterFolder), Data: data, Host: t.Name}
	for _, path := range append(nodeFiles(data), m.Dir, filepath.Join(data, keys.FileName), filepath.Join(data, vault.FileName)) {
		if err := absent(path); err != nil {
			return err // before the token is used up
		}
	}
	if m.Parcel, m.Key, err = authority.Ask(ctx, t); err != nil {
		return err
	}
	m.Options = config.OwnText(c.cfg) + m.Settings
	if err := m.Write(func(string) error { return nil }); err != nil {
		return err
	}
	for _, name := range []string{keys.FileName, vault.FileName} {
		if key := m.Keys[name]; key != "" {
			if err := keyfile.Create(filepath.Join(data, name), []byte(key)); err != nil {
				return err
			}
		}
	}
	path := filepath.Join(m.Dir, authority.ConfigFile)
	if c.cfg, err = config.Load(config.Sources{File: path}); err != nil {
		return fmt.Errorf("the configuration that %s gave: %w", t.Door, err)
	}
	if nats := filepath.Join(m.Dir, authority.NATSFile); absent(nats) != nil {
		fmt.Fprintf(c.Stderr, "This machine keeps the log too. Start its server now:\n  nats-server -c %s\n", nats)
	}
	if err := c.joinPatiently(ctx); err != nil {
		return fmt.Errorf("%w; resume with engramd cluster join --config %s", err, path)
	}
	fmt.Fprintf(c.Stdout, "The configuration is %s\n", path)
	return nil
}

// joinEvery is how often it is tried, as long as servers of the log or all nodes are away.
const joinEvery = 2 * time.Second

// joinPatiently joins as soon as the log, and a node that gives a copy, are there.
func (c *clusterCommand) joinPatiently(ctx context.Context) error {
	for said := ""; ; {
		err := c.join(ctx)
		away := errors.Is(err, jetstream.ErrAway) || errors.Is(err, jetstream.ErrUnverified) || errors.Is(err, jetstream.ErrRefused) || errors.Is(err, jetstream.ErrNoPeer)
		if !away || ctx.Err() != nil {
			return err
		}
		if err.Error() != said {
			said = err.Error()
			fmt.Fprintf(c.Stderr, "waiting for the log and a running node: %s\n", said)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(joinEvery):
		}
	}
}

// absent returns an error if there is something at a path.
func absent(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is there already; join needs an empty data folder, engramd cluster rejoin keeps what is there", path)
	}
	return nil
}
