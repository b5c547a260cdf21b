package daemon

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/notify"
)

// openBroker starts telling the events broker, if there is one in the
// configuration.
func (c *process) openBroker() (err error) {
	if c.cfg.Events.NATS == "" {
		return nil
	}
	o := wiring.BrokerOptions(c.cfg)
	o.Log, o.Observe = c.log, c.metrics.Broker
	if c.events, err = notify.New(o); err != nil {
		return wiring.Usage(err)
	}
	c.mutations.Store(c.cfg.Events.Mutations)
	c.relay.Hooks.OnEventSaved = append(c.relay.Hooks.OnEventSaved, c.wrote)
	return nil
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
	ctx, cancel := context.WithTimeout(context.Background(), wiring.BrokerGrace)
	defer cancel()
	c.events.Close(ctx)
}
