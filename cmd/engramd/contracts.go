package main

import (
	"context"
	"encoding/hex"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/contracts/identity"
	"engramd/internal/contracts/outbox"
	"engramd/internal/contracts/vault"
	"engramd/internal/metrics"
	"engramd/nips/niptemp"
)

// lagTimeout bounds what a scrape of the metrics waits for the outbox's figures.
const lagTimeout = time.Second

// openVault finds the master key, or makes it at the first start, and sees that it is the one of this database.
func (c *serveCommand) openVault(ctx context.Context) error {
	check, err := c.store.VaultCheck(ctx)
	if err != nil {
		return err
	}
	c.vault, err = vault.Open(vault.Options{Setting: c.cfg.Contracts.MasterKey, Dir: c.cfg.Data, Env: lookup(c.Env), Check: check})
	if err != nil {
		return err
	}
	if mine := c.vault.Check(); mine != nil {
		first, err := c.store.SetVaultCheck(ctx, mine)
		if err != nil {
			return err
		}
		if first {
			c.log.Info("a master key is in use for the first time: keep a copy of it with the backups", "master_key", c.vault.Source())
		}
	}
	c.agents = identity.New(identity.Options{Store: c.store, Vault: c.vault, Ahead: c.cfg.Limits.Future})
	return nil
}

// lookup finds a variable in an environment.
func lookup(env []string) func(name string) (string, bool) {
	return func(name string) (value string, ok bool) {
		for _, kv := range env {
			if n, v, _ := strings.Cut(kv, "="); n == name {
				value, ok = v, true // the last one counts
			}
		}
		return value, ok
	}
}

// openOutbox makes the outbox. It delivers nothing before its Start.
func (c *serveCommand) openOutbox() (err error) {
	o := outbox.Options{Store: c.store, Relay: c.relay, Targets: c.cfg.Contracts.PublishTo, Log: c.log, Observe: c.metrics}
	if c.vault.On() == nil {
		secret, err := c.vault.Derive("outbox auth")
		if err != nil {
			return err
		}
		o.Secret = hex.EncodeToString(secret)
	}
	if c.outbox, err = outbox.New(o); err != nil {
		return err
	}
	c.metrics.WatchOutbox(func() metrics.OutboxLag {
		ctx, cancel := context.WithTimeout(context.Background(), lagTimeout)
		defer cancel()
		l, err := c.outbox.Lag(ctx)
		if err != nil {
			c.log.Debug("the outbox cannot be asked", "err", err)
		}
		return metrics.OutboxLag{Local: float64(l.Local), Remote: float64(l.Remote),
			OldestLocal: l.OldestLocal.Seconds(), OldestRemote: l.OldestRemote.Seconds()}
	})
	if len(c.cfg.Contracts.PublishTo) > 0 {
		c.log.Info("contract events are published to further relays too; this key answers their AUTH", "relays", len(c.cfg.Contracts.PublishTo), "pubkey", c.outbox.PubKey())
	}
	return nil
}

// delivered notes in its thread that the relay has an entry now. The service hands it to the relay once more, which knows it.
func (c *serveCommand) delivered(ctx context.Context, ev *nostr.Event) error {
	if ev.Kind != niptemp.KindEntry {
		return nil
	}
	_, err := c.contracts.Deliver(ctx, ev)
	return err
}
