package daemon

import (
	"context"
	"fmt"
	"strings"
	"time"

	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/policy"
)

// reload reads the configuration again and puts what can change live into
// force: all of it, or, when anything in it is wrong, nothing. It runs on the
// goroutine that handles signals, so reloads and the shutdown take turns.
func (c *process) reload(ctx context.Context) {
	next, err := c.Reload()
	if err == nil {
		err = c.apply(ctx, config.KeepFixed(c.cfg, next))
	}
	if err != nil {
		c.log.Error("reload refused, the old configuration stays in force", "err", err)
		c.metrics.ReloadDone(false)
		return
	}
	var live, fixed []string
	for _, change := range config.Diff(c.cfg, next) {
		if change.Live {
			live = append(live, change.Key)
		} else {
			fixed = append(fixed, change.Key)
		}
	}
	c.cfg = config.KeepFixed(c.cfg, next)
	c.log.Info("configuration reloaded", "changed", listed(live), "needs_restart", listed(fixed))
	c.metrics.ReloadDone(true)
}

// agrees refuses a configuration that differs, in options which all nodes of a
// cluster share, from what the cluster's configuration says.
func agrees(cfg *config.Config, shared string) error {
	keys := config.SharedDiff(cfg, shared)
	if len(keys) == 0 {
		return nil
	}
	return wiring.Usage(fmt.Errorf("this differs from the cluster's configuration, which all nodes share: %s; set here what it says, as engramd cluster show prints it, or propose this for all nodes (engramd cluster configure)", strings.Join(keys, ", ")))
}

func listed(keys []string) string {
	if len(keys) == 0 {
		return "nothing"
	}
	return strings.Join(keys, ",")
}

// applyLimit bounds how long a reload waits for the database.
const applyLimit = 10 * time.Second

// apply puts cfg into force. Steps that can fail come first, so that a refusal
// leaves everything as it was.
func (c *process) apply(ctx context.Context, cfg *config.Config) error {
	ctx, cancel := context.WithTimeout(ctx, applyLimit)
	defer cancel()
	if _, text := c.shared.now(); text != "" {
		if err := agrees(cfg, text); err != nil {
			return err
		}
	}
	table, err := wiring.Table(cfg)
	if err != nil {
		return err
	}
	if _, err := policy.New(wiring.PolicyOptions(cfg, c.relay.Names(), c.store.Approved)); err != nil {
		return err
	}
	live, err := wiring.DaemonLive(cfg)
	if err != nil {
		return err
	}
	settings, err := wiring.SnapshotSettings(cfg)
	if err != nil {
		return err
	}
	if err := wiring.NotToItself(cfg, listening(c.listener)); err != nil {
		return err
	}
	follow, err := c.replicas.Prepare(replicaSpecs(cfg))
	if err != nil {
		return err
	}
	if err := c.putInForce(ctx, cfg, table, live); err != nil {
		return err
	}
	c.shares.SetRules(c.shareRules(cfg))
	c.program.Set(c.programOptions(cfg))
	c.relay.SetLimits(relayLimits(cfg))
	c.sessions.SetLimits(sessionLimits(cfg))
	c.bridge.SetProxy(proxyOf(cfg))
	c.bridge.SetPending(pendingLimits(cfg))
	c.bridge.SetLimits(bridgeLimits(cfg))
	c.contracts.SetEventLimit(cfg.Limits.MessageBytes)
	c.memory.SetLimit(cfg.Limits.Memory)
	c.metrics.Sessions.SetConnectionsLimit(cfg.Limits.Connections)
	c.snapshots.Configure(settings)
	c.mutations.Store(cfg.Events.Mutations)
	c.sessions.SetAccess(cfg.Log.Access)
	c.bridge.SetAccess(cfg.Log.Access)
	setLevel(&c.level, cfg)
	follow()
	return nil
}
