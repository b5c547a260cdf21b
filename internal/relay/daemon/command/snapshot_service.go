package command

import (
	"context"
	"fmt"

	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/keys"
	"engramd/internal/relay/notify"
	"engramd/internal/relay/snapshots"
	"engramd/internal/relay/store/sqlite"
)

// opener makes the service of snapshots for a command.
type opener struct {
	base
	store    *sqlite.Store     // nil unless the command opened it
	events   *notify.Publisher // nil without a broker
	unsigned error             // why the relay's key does not sign
}

// close ends what the command opened.
func (c *opener) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), wiring.BrokerGrace)
	defer cancel()
	c.events.Close(ctx)
	if c.store == nil {
		return nil
	}
	return c.store.Close()
}

// files returns the service for what needs no database.
func (c *opener) files() (*snapshots.Service, error) {
	return c.service(context.Background(), nil)
}

// service returns the service over the database if the command has opened it.
func (c *opener) service(ctx context.Context, rules snapshots.Rules) (*snapshots.Service, error) {
	settings, err := wiring.SnapshotSettings(c.cfg)
	if err != nil {
		return nil, err
	}
	if c.cfg.Events.NATS != "" && c.events == nil {
		if c.events, err = notify.New(wiring.BrokerOptions(c.cfg)); err != nil {
			return nil, wiring.Usage(err)
		}
	}
	o := wiring.SnapshotOptions(c.cfg, settings, c.Version)
	o.Rules, o.Events, o.Process = rules, c.events, "that is this command"
	if c.store != nil {
		o.Store = c.store
		ring, err := keys.Beside(ctx, wiring.RelayKeyOptions(c.cfg, c.Env), c.store)
		if o.Trusted = ring.Trusted; err == nil {
			o.Sign = ring.Sign
		}
		c.unsigned = err
	}
	return snapshots.New(o), nil
}

// reading returns the service beside a daemon, or without one, for what only
// reads.
func (c *opener) reading(ctx context.Context) (_ *snapshots.Service, err error) {
	if c.store, err = openBeside(ctx, c.cfg); err != nil {
		return nil, err
	}
	return c.service(ctx, nil)
}

// trusting returns the service for what needs no database, but goes by the
// relay's own keys if there is one.
func (c *opener) trusting(ctx context.Context) (*snapshots.Service, error) {
	if databaseThere(c.cfg) != nil {
		return c.files()
	}
	s, err := c.reading(ctx)
	if err != nil {
		fmt.Fprintf(c.Stderr, "the relay's own keys are not known, and count as others': %v\n", err)
		return c.files()
	}
	return s, nil
}
