package daemon

import (
	"context"
	"sync/atomic"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/notify"
)

// broker is told of writes to memories; without one in the configuration nobody is.
type broker struct {
	common
	events    *notify.Publisher
	mutations atomic.Bool // tell of writes
}

// open starts telling the events broker, if there is one in the
// configuration.
func (b *broker) open(cfg *config.Config, r *relay.Relay) (err error) {
	if cfg.Events.NATS == "" {
		return nil
	}
	o := wiring.BrokerOptions(cfg)
	o.Log, o.Observe = b.log, b.metrics.Broker
	if b.events, err = notify.New(o); err != nil {
		return wiring.Usage(err)
	}
	b.mutations.Store(cfg.Events.Mutations)
	r.Hooks.OnEventSaved = append(r.Hooks.OnEventSaved, b.wrote)
	return nil
}

// wrote tells of a write to an agent's memory. It runs after the commit, off
// the writer, in the order of the commits. Every node executes every write, and
// the one that leads tells of it.
func (b *broker) wrote(_ context.Context, ev *nostr.Event) {
	if b.mutations.Load() && notify.ChangesMemory(ev) && b.lead.here() {
		b.events.Mutated(ev.PubKey, ev.Kind, len(ev.Content))
	}
}

func (b *broker) close() {
	ctx, cancel := context.WithTimeout(context.Background(), wiring.BrokerGrace)
	defer cancel()
	b.events.Close(ctx)
}
