package daemon

import (
	"context"

	"engramd/internal/client"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/keys"
)

// openKeys finds the relay's identity key and the master key, or makes them at
// the first start. Nothing is made when the first is not the one of this
// database.
//
// Further relays may know this one by the key that was made of the master key
// before there was another: if that was in use, it stays.
func (c *process) openKeys(ctx context.Context) error {
	o := wiring.RelayKeyOptions(c.cfg, c.Env)
	known, err := c.store.RelayKeys(ctx)
	if err != nil {
		return err
	}
	if len(known) > 0 {
		if err := keys.Look(o, known[0].PubKey); err != nil {
			return err
		}
	}
	before, err := c.openVault(ctx)
	if err != nil {
		return err
	}
	if before {
		o.Seed = func() ([]byte, error) { return c.vault.Derive("outbox auth") }
	}
	if c.keys, err = keys.Open(ctx, o, c.store); err != nil {
		return err
	}
	if len(known) == 0 {
		c.log.Info("the relay has an identity key of its own: keep a copy of it with the backups", "relay_key", c.keys.Source())
	}
	if err := c.keys.Prune(ctx); err != nil {
		c.log.Warn("former relay keys that are not needed any more stay in the file", "err", err)
	}
	return nil
}

// identityOf returns a key of the relay as one that asks other relays.
func identityOf(k keys.Key) client.Identity { return client.Signing(k.PubKey(), k.Sign) }
