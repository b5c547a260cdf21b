package daemon

import (
	"context"
	"strings"
	"time"

	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/policy"
)

// reload reads the configuration again and puts what can change live into
// force: all of it, or, when anything in it is wrong, nothing. It runs on the
// goroutine that handles signals, so reloads and the shutdown take turns.
func (p *process) reload(ctx context.Context) {
	next, err := p.read()
	if err == nil {
		err = p.apply(ctx, config.KeepFixed(p.cfg, next))
	}
	if err != nil {
		p.log.Error("reload refused, the old configuration stays in force", "err", err)
		p.metrics.ReloadDone(false)
		return
	}
	var live, fixed []string
	for _, change := range config.Diff(p.cfg, next) {
		if change.Live {
			live = append(live, change.Key)
		} else {
			fixed = append(fixed, change.Key)
		}
	}
	p.cfg = config.KeepFixed(p.cfg, next)
	p.log.Info("configuration reloaded", "changed", listed(live), "needs_restart", listed(fixed))
	p.metrics.ReloadDone(true)
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
func (p *process) apply(ctx context.Context, cfg *config.Config) error {
	ctx, cancel := context.WithTimeout(ctx, applyLimit)
	defer cancel()
	if _, text := p.rules.shared.now(); text != "" {
		if err := agrees(cfg, text); err != nil {
			return err
		}
	}
	table, err := wiring.Table(cfg)
	if err != nil {
		return err
	}
	if _, err := policy.New(wiring.PolicyOptions(cfg, p.relay.Names(), p.store.Approved)); err != nil {
		return err
	}
	live, room, err := p.measured(cfg)
	if err != nil {
		return err
	}
	settings, err := wiring.SnapshotSettings(cfg)
	if err != nil {
		return err
	}
	if err := wiring.NotToItself(cfg, p.ports.address()); err != nil {
		return err
	}
	follow, err := p.replicas.set.Prepare(replicaSpecs(cfg))
	if err != nil {
		return err
	}
	if err := p.rules.put(ctx, cfg, table, live); err != nil {
		return err
	}
	p.rules.room.SetBounds(room)
	p.shares.all.SetRules(p.shares.rules(cfg))
	p.rules.program.Set(p.rules.programOptions(cfg))
	p.relay.SetLimits(relayLimits(cfg))
	p.surfaces.sessions.SetLimits(cfg.Bounds())
	p.surfaces.bridge.SetProxy(proxyOf(cfg))
	p.surfaces.bridge.SetLimits(bridgeLimits(cfg.Bounds()))
	p.contracts.service.SetEventLimit(cfg.Limits.MessageBytes)
	p.clock.future.Store(int64(cfg.Limits.Future))
	p.memory.SetLimit(cfg.Limits.Memory)
	p.metrics.Sessions.SetConnectionsLimit(cfg.Limits.Connections)
	p.snapshots.service.Configure(settings)
	p.broker.mutations.Store(cfg.Events.Mutations)
	p.surfaces.sessions.SetAccess(cfg.Log.Access)
	p.surfaces.bridge.SetAccess(cfg.Log.Access)
	setLevel(&p.level, cfg)
	follow()
	return nil
}
