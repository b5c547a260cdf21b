package daemon

import (
	"context"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/metrics"
)

// openRelay makes the relay, opens the database, and puts the one with its
// policies over the other.
func (c *process) openRelay(ctx context.Context) error {
	if err := c.openLog(ctx); err != nil {
		return err
	}
	table, err := wiring.Table(c.cfg)
	if err != nil {
		return err
	}
	names, err := relay.NewNames(c.cfg.PublicURL, listening(c.listener))
	if err != nil {
		return wiring.Usage(err)
	}
	if err := wiring.NotToItself(c.cfg, listening(c.listener)); err != nil {
		return err // port 0: only now it is known
	}
	c.metrics = metrics.New(c.Version)
	c.metrics.Sessions.SetConnectionsLimit(c.cfg.Limits.Connections)
	c.guesses = fairness.NewGuesses(time.Now)
	c.relay, err = relay.New(relay.Config{
		Names: names, Info: relayInfo(c.cfg, c.Version), AuthWindow: c.cfg.Auth.Window, Limits: relayLimits(c.cfg),
		Clock: c.now, Log: c.log, Metrics: c.metrics.Relay, Self: func() string { return c.keys.PubKey() },
		Guesses: c.guesses, Latest: c.latest, Ephemeral: c.ephemeral, Vouched: c.vouched(),
	}, table)
	if err != nil {
		return err
	}
	if err := c.openStore(ctx, table); err != nil {
		return err
	}
	if err := c.openRules(ctx); err != nil {
		return err
	}
	return c.attachRelay(ctx)
}

// openStore opens the database, and says behind which place of the log it is.
func (c *process) openStore(ctx context.Context, table *gate.Table) error {
	live, err := wiring.DaemonLive(c.cfg)
	if err != nil {
		return err
	}
	c.store, err = wiring.OpenDatabase(ctx, wiring.DatabaseOptions{
		Path: wiring.DatabaseFile(c.cfg.Data), Readers: c.cfg.Store.Readers, Table: table,
		MaxBatch: c.cfg.Store.MaxBatch, Log: c.log, Observe: c.metrics.Store, OnCommit: c.relay.Committed, Live: live,
		Clock: c.now, Sequenced: c.clustered(), Admit: c.admit, Changed: c.listsChanged,
	})
	if err != nil {
		return err
	}
	return c.joinLog(ctx)
}

// openRules finds who may do what, executes what the log says under it, and finds
// the keys.
func (c *process) openRules(ctx context.Context) error {
	c.metrics.WatchSizes(c.sizes())
	c.metrics.WatchMemory(c.memory.Limit, c.memory.Needed)
	c.openShares()
	c.metrics.WatchReads(func() metrics.Reads { return metrics.Reads(c.store.Reads()) })
	if err := c.openBroker(); err != nil {
		return err
	}
	if err := c.openSnapshots(); err != nil {
		return err
	}
	if err := c.openAdmin(ctx); err != nil { // sets the policy, by which the log is executed
		return err
	}
	if err := c.runLog(ctx); err != nil {
		return err
	}
	return c.openKeys(ctx)
}

// attachRelay puts the relay over the database, and contract memory over both.
func (c *process) attachRelay(ctx context.Context) error {
	c.program.Set(c.programOptions(c.cfg))
	rejects := c.policy.RejectEvent
	if !c.leading.alone() && !bansAtOrigin(c.Env) {
		rejects = c.policy.AtOrigin // what lists decide is decided at the event's place
	}
	c.relay.Reject(rejects, c.askProgram)
	c.relay.OnNotStored(c.policy.NotStored)
	c.relay.Hooks.RejectConnection = append(c.relay.Hooks.RejectConnection, c.blocked.rejects)
	c.leading.watch(c.relay)
	if err := c.relay.Attach(c.store); err != nil {
		return err
	}
	c.attached = true
	c.openOutbox()
	if err := c.openContracts(ctx); err != nil {
		return err
	}
	if err := c.startOutbox(ctx); err != nil {
		return err
	}
	c.runContracts()
	return c.meetNodes()
}

// vouched is what goes along with events to their place, nil without other nodes.
func (c *process) vouched() func(context.Context, *nostr.Event) []string {
	if c.leading.alone() {
		return nil
	}
	return c.policy.Vouched
}
