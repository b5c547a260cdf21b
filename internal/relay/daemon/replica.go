package daemon

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/notify"
	"engramd/internal/relay/replica"
	"engramd/internal/relay/store/sqlite"
)

// replicaSpecs are the relays to follow.
func replicaSpecs(cfg *config.Config) []replica.Spec {
	specs := make([]replica.Spec, len(cfg.Replica))
	for i, r := range cfg.Replica {
		specs[i] = replica.Spec(r)
	}
	return specs
}

// following are the relays that this one follows.
type following struct {
	common
	set *replica.Set
	end func() // nil unless there are other nodes
}

// open begins to follow, while this node leads.
func (f *following) open(cfg *config.Config, with wiring.Following) error {
	f.set = replica.NewSet(with.Follower)
	if !f.lead.alone() {
		f.set.Hold()
		f.end = begin(context.Background(), func(ctx context.Context) { f.lead.while(ctx, f.set.Follow) })
	}
	start, err := f.set.Prepare(replicaSpecs(cfg))
	if err != nil {
		return wiring.Usage(err)
	}
	f.metrics.WatchReplicas(func() (lag []metrics.ReplicaLag) {
		for _, s := range f.set.Status() {
			l := metrics.ReplicaLag{Lag: s.Lag, Live: s.State == replica.Following}
			if !s.Success.IsZero() {
				l.LastSuccess = float64(s.Success.Unix())
			}
			lag = append(lag, l)
		}
		return lag
	})
	start()
	return nil
}

// close follows nobody any more.
func (f *following) close() {
	f.set.Close()
	if f.end != nil {
		f.end()
	}
}

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

// shares say whom work is charged to.
type shares struct {
	log    *slog.Logger
	all    *fairness.Shares
	listed *fairness.Keys
}

// open makes them. What the rules know of keys comes from the store and, when the
// policy is compiled, from the lists.
func (s *shares) open(cfg *config.Config, known *sqlite.Store) {
	s.listed = fairness.NewKeys(known.KnownSince, time.Now)
	s.all = fairness.NewShares(s.rules(cfg))
}

// rules returns the rules under a configuration. A warning is logged when it
// leaves clients that cannot be told apart.
func (s *shares) rules(cfg *config.Config) fairness.Rules {
	r := shareRules(cfg)
	if r.Common {
		s.log.Warn("clients from loopback and private addresses cannot be told apart and have one budget together: name the reverse proxy in proxy.trusted, or set limits.loopback_exempt to false if there is none")
	}
	r.Known = s.listed.Known
	return r
}

// shareRules say how addresses are told apart.
func shareRules(cfg *config.Config) fairness.Rules {
	loopback, exempt := cfg.LoopbackNames(), cfg.Limits.LoopbackExempt
	return fairness.Rules{
		Exempt: exempt && loopback,
		Common: exempt && !loopback && len(cfg.Proxy.Trusted) == 0,
	}
}
