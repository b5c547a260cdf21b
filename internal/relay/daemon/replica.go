package daemon

import (
	"context"

	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/replica"
)

// This file connects the relays that this one follows.

// replicaSpecs are the relays to follow.
func replicaSpecs(cfg *config.Config) []replica.Spec {
	specs := make([]replica.Spec, len(cfg.Replica))
	for i, r := range cfg.Replica {
		specs[i] = replica.Spec(r)
	}
	return specs
}

// following are the parts of the running daemon.
func (c *process) following() wiring.Following {
	return wiring.Following{Store: c.store, Table: c.relay.Table, Judge: wiring.AsAuthor(c.copies.RejectEvent), Log: c.log, Metrics: c.metrics.Replicas}
}

// openReplicas begins to follow, while this node leads.
func (c *process) openReplicas() error {
	c.replicas = replica.NewSet(c.following().Follower)
	if !c.leading.alone() {
		c.replicas.Hold()
		c.stopFollowing = begin(context.Background(), func(ctx context.Context) { c.leading.while(ctx, c.replicas.Follow) })
	}
	start, err := c.replicas.Prepare(replicaSpecs(c.cfg))
	if err != nil {
		return wiring.Usage(err)
	}
	c.metrics.WatchReplicas(func() (lag []metrics.ReplicaLag) {
		for _, s := range c.replicas.Status() {
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
