package daemon

import (
	"context"

	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/replica"
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
