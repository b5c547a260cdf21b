package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/config"
	"engramd/internal/relay/notify"
)

// brokerGrace bounds how long the end of the daemon waits for the events
// broker.
const brokerGrace = time.Second

// openBroker starts telling the events broker, if there is one in the
// configuration.
func (c *process) openBroker() (err error) {
	if c.cfg.Events.NATS == "" {
		return nil
	}
	o := brokerOptions(c.cfg)
	o.Log, o.Observe = c.log, c.metrics
	if c.events, err = notify.New(o); err != nil {
		return usage(err)
	}
	c.mutations.Store(c.cfg.Events.Mutations)
	c.relay.Hooks.OnEventSaved = append(c.relay.Hooks.OnEventSaved, c.wrote)
	return nil
}

func brokerOptions(cfg *config.Config) notify.Options {
	return notify.Options{URL: cfg.Events.NATS, Credentials: cfg.Events.Credentials, Prefix: cfg.Events.Prefix}
}

// brokerCompiles finds mistakes in the configuration. An unreachable broker is
// not one.
func brokerCompiles(cfg *config.Config) error {
	o := brokerOptions(cfg)
	if o.URL == "" {
		return nil
	}
	if err := o.Check(); err != nil {
		return usage(fmt.Errorf("%s: %w", brokerOption(err), err))
	}
	return nil
}

// brokerOption returns the option that an error is about.
func brokerOption(err error) string {
	switch {
	case errors.Is(err, notify.ErrURL):
		return "events.nats"
	case errors.Is(err, notify.ErrPrefix):
		return "events.prefix"
	}
	return "events.credentials"
}

// wrote tells of a write to an agent's memory. It runs after the commit, off
// the writer, in the order of the commits. Every node executes every write, and
// the one that leads tells of it.
func (c *process) wrote(_ context.Context, ev *nostr.Event) {
	if c.mutations.Load() && notify.ChangesMemory(ev) && c.leading.here() {
		c.events.Mutated(ev.PubKey, ev.Kind, len(ev.Content))
	}
}

func (c *process) closeBroker() {
	ctx, cancel := context.WithTimeout(context.Background(), brokerGrace)
	defer cancel()
	c.events.Close(ctx)
}
