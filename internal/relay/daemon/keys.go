package daemon

import (
	"context"
	"errors"
	"fmt"

	"engramd/internal/client"
	"engramd/internal/relay/config"
	"engramd/internal/relay/contracts/identity"
	"engramd/internal/relay/contracts/outbox"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/keys"
	"engramd/internal/relay/store/sqlite"
)

// ownKeys are the secret keys that the relay has.
type ownKeys struct {
	common
	store  *sqlite.Store
	vault  *vault.Vault
	ring   *keys.Ring         // its identity
	agents *identity.Registry // names and kept keys
}

// open finds the relay's identity key and the master key, or makes them at
// the first start. Nothing is made when the first is not the one of this
// database.
//
// Further relays may know this one by the key that was made of the master key
// before there was another: if that was in use, it stays.
func (k *ownKeys) open(ctx context.Context, cfg *config.Config) error {
	o := wiring.RelayKeyOptions(cfg, k.env)
	known, err := k.store.RelayKeys(ctx)
	if err != nil {
		return err
	}
	if len(known) > 0 {
		if err := keys.Look(o, known[0].PubKey); err != nil {
			return k.ofAll(err, cfg.Data)
		}
	}
	before, err := k.openVault(ctx, cfg)
	if err != nil {
		return err
	}
	if before {
		o.Seed = func() ([]byte, error) { return k.vault.Derive("outbox auth") }
	}
	if k.ring, err = keys.Open(ctx, o, k.store); err != nil {
		return err
	}
	if len(known) == 0 {
		k.log.Info("the relay has an identity key of its own: keep a copy of it with the backups", "relay_key", k.ring.Source())
	}
	if err := k.ring.Prune(ctx); err != nil {
		k.log.Warn("former relay keys that are not needed any more stay in the file", "err", err)
	}
	return nil
}

// ofAll says of a key that is not the database's what to do where other nodes have it: a
// new one would be theirs no more.
func (k *ownKeys) ofAll(err error, dir string) error {
	for _, why := range []error{keys.ErrLost, keys.ErrOther} {
		if errors.Is(err, why) && !k.lead.alone() {
			return fmt.Errorf("%w: all nodes have the same one: copy relay.key and master.key of another node into %s (docs/cluster.md)", why, dir)
		}
	}
	return err
}

// identityOf returns a key of the relay as one that asks other relays.
func identityOf(k keys.Key) client.Identity { return client.Signing(k.PubKey(), k.Sign) }

// openVault finds the master key, or makes it at the first start, and sees that
// it is the one of this database. before says that it was in use before this
// start.
func (k *ownKeys) openVault(ctx context.Context, cfg *config.Config) (before bool, err error) {
	o, err := wiring.VaultOptions(ctx, cfg, k.env, k.store)
	if err != nil {
		return false, err
	}
	if k.vault, err = vault.Open(o); err != nil {
		return false, err
	}
	if mine := k.vault.Check(); mine != nil {
		first, err := k.store.SetVaultCheck(ctx, mine)
		if err != nil {
			return false, err
		}
		if before = !first; first {
			k.log.Info("a master key is in use for the first time: keep a copy of it with the backups", "master_key", k.vault.Source())
		}
	}
	k.agents = identity.New(identity.Options{Store: k.store, Vault: k.vault, Ahead: cfg.Limits.Future})
	return before, nil
}

// orders let commands change the keys of the running relay.
func (k *ownKeys) orders(out *outbox.Outbox) []control.Order {
	return []control.Order{
		control.NewOrder(orders.Rotate, func(ctx context.Context, args orders.KeyArgs) (any, error) {
			if err := k.lead.aloneOnly(); err != nil {
				return nil, err
			}
			done, err := k.ring.Rotate(context.WithoutCancel(ctx), args.Revoke)
			if done.New != "" {
				out.SetIdentity(identityOf(k.ring.Key()))
				k.log.Info("the relay has another identity key: keep a copy of it with the backups", "relay_key", k.ring.Source())
			}
			return done, err
		}),
		control.NewOrder(orders.Revoke, func(ctx context.Context, args orders.KeyArgs) (any, error) {
			return keys.Change{}, k.ring.Revoke(ctx, args.Key)
		}),
		control.NewOrder(orders.RotateMaster, func(ctx context.Context, _ struct{}) (any, error) {
			if err := k.lead.aloneOnly(); err != nil {
				return nil, err
			}
			done, err := k.vault.Rotate(context.WithoutCancel(ctx), identity.Register{Sealed: k.store})
			if err == nil {
				k.log.Info("the master key was changed: keep a copy of the new one with the backups", "master_key", k.vault.Source(), "sealed", done.Sealed)
			}
			return done, err
		}),
	}
}
