package daemon

import (
	"context"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/contracts/identity"
	"engramd/internal/relay/contracts/outbox"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/metrics"
	"engramd/nips/niptemp"
)

// lagTimeout bounds what a scrape of the metrics waits for the outbox's
// figures.
const lagTimeout = time.Second

// openVault finds the master key, or makes it at the first start, and sees that
// it is the one of this database. before says that it was in use before this
// start.
func (c *process) openVault(ctx context.Context) (before bool, err error) {
	o, err := wiring.VaultOptions(ctx, c.cfg, c.Env, c.store)
	if err != nil {
		return false, err
	}
	if c.vault, err = vault.Open(o); err != nil {
		return false, err
	}
	if mine := c.vault.Check(); mine != nil {
		first, err := c.store.SetVaultCheck(ctx, mine)
		if err != nil {
			return false, err
		}
		if before = !first; first {
			c.log.Info("a master key is in use for the first time: keep a copy of it with the backups", "master_key", c.vault.Source())
		}
	}
	c.agents = identity.New(identity.Options{Store: c.store, Vault: c.vault, Ahead: c.cfg.Limits.Future})
	return before, nil
}

// openOutbox makes the outbox. It delivers nothing before its Start.
func (c *process) openOutbox() {
	to := c.cfg.Contracts.PublishTo
	c.outbox = outbox.New(outbox.Options{
		Store: c.store, Relay: c.relay, Targets: to, Identity: identityOf(c.keys.Key()), Log: c.log, Observe: c.metrics.Outbox,
	})
	c.metrics.WatchOutbox(len(to), func() (lag []metrics.OutboxLag) {
		ctx, cancel := context.WithTimeout(context.Background(), lagTimeout)
		defer cancel()
		all, err := c.outbox.Lag(ctx)
		if err != nil {
			c.log.Debug("the outbox cannot be asked", "err", err)
			return nil
		}
		for _, l := range all {
			lag = append(lag, metrics.OutboxLag{Waiting: float64(l.Waiting), Oldest: l.Oldest.Seconds()})
		}
		return lag
	})
	if len(to) > 0 {
		c.log.Info("contract events are published to further relays too; the relay's own key answers their AUTH", "relays", len(to))
	}
}

// startOutbox begins to deliver. Of several nodes the one that leads delivers
// what any of them queued.
func (c *process) startOutbox(ctx context.Context) error {
	if c.leading.alone() {
		if err := c.outbox.Start(ctx, c.delivered); err != nil {
			return err
		}
		return c.contracts.Resume(ctx)
	}
	c.stopOutbox = begin(context.Background(), func(ctx context.Context) { c.leading.while(ctx, c.deliver) })
	return nil
}

// deliver delivers until ctx ends. What cannot be tidied up before is found at
// the next time that this node leads.
func (c *process) deliver(ctx context.Context) {
	if err := c.outbox.Keep(ctx); err != nil && ctx.Err() == nil {
		c.log.Error("what waits for relays that are no longer targets is not forgotten", "err", err)
	}
	if err := c.contracts.Resume(ctx); err != nil && ctx.Err() == nil {
		c.log.Error("entries that wait for the relay could not be looked for", "err", err)
	}
	defer c.leading.rousing(ctx, c.outbox.Rouse)()
	c.outbox.Run(ctx, c.delivered)
}

// delivered notes in its thread that the relay has an entry now. The service
// hands it to the relay once more, which knows it.
func (c *process) delivered(ctx context.Context, ev *nostr.Event) error {
	if ev.Kind != niptemp.KindEntry {
		return nil
	}
	_, err := c.contracts.Deliver(ctx, ev)
	return err
}
