package daemon

import (
	"context"
	"errors"
	"time"

	"engramd/internal/relay/contracts/identity"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/daemon/wiring"
	relaykeys "engramd/internal/relay/keys"
	"engramd/internal/relay/management"
	"engramd/internal/relay/replica"
	"engramd/internal/relay/status"
)

// This file answers what commands ask over the control socket.

// deleteOrders let the command remove events beside clients.
func (c *process) deleteOrders() []control.Order {
	return []control.Order{control.NewOrder(orders.Delete, func(ctx context.Context, args orders.DeleteArgs) (any, error) {
		if args.Filters == nil {
			return nil, errors.New("nothing to delete was named")
		}
		done, err := wiring.Remove(ctx, c.store, args.Filters)
		c.log.Info("delete", "removed", management.Total(done), "complete", err == nil)
		return done, err
	})}
}

// keyOrders let commands change the key of the running relay.
func (c *process) keyOrders() []control.Order {
	return []control.Order{
		control.NewOrder(orders.Rotate, func(ctx context.Context, args orders.KeyArgs) (any, error) {
			if err := c.aloneOnly(); err != nil {
				return nil, err
			}
			done, err := c.keys.Rotate(context.WithoutCancel(ctx), args.Revoke)
			if done.New != "" {
				c.outbox.SetIdentity(identityOf(c.keys.Key()))
				c.log.Info("the relay has another identity key: keep a copy of it with the backups", "relay_key", c.keys.Source())
			}
			return done, err
		}),
		control.NewOrder(orders.Revoke, func(ctx context.Context, args orders.KeyArgs) (any, error) {
			return relaykeys.Change{}, c.keys.Revoke(ctx, args.Key)
		}),
	}
}

// masterKeyOrders let the command change the key of the running relay.
func (c *process) masterKeyOrders() []control.Order {
	return []control.Order{control.NewOrder(orders.RotateMaster, func(ctx context.Context, _ struct{}) (any, error) {
		if err := c.aloneOnly(); err != nil {
			return nil, err
		}
		done, err := c.vault.Rotate(context.WithoutCancel(ctx), identity.Register{Sealed: c.store})
		if err == nil {
			c.log.Info("the master key was changed: keep a copy of the new one with the backups", "master_key", c.vault.Source(), "sealed", done.Sealed)
		}
		return done, err
	})}
}

// outboxOrders let commands change what waits.
func (c *process) outboxOrders() []control.Order {
	return []control.Order{control.NewOrder(orders.OutboxDrop, func(ctx context.Context, args orders.DropArgs) (any, error) {
		n, err := c.outbox.Drop(ctx, args.Relay)
		c.log.Info("what waited for a further relay was given up by command", "relay", args.Relay, "events", n)
		return orders.Dropped{Events: n}, err
	})}
}

// errStarting means that there is nothing to tell yet.
var errStarting = errors.New("the daemon is starting")

// statusOrders makes reports. They are made on the control socket's goroutines,
// and read no configuration, which a reload replaces.
func (c *process) statusOrders() []control.Order {
	started, dir := time.Now(), c.cfg.Data
	return []control.Order{control.NewOrder(orders.Status, func(ctx context.Context, args orders.StatusArgs) (any, error) {
		if !c.up.Load() {
			return nil, errStarting
		}
		s := status.Sources{
			Version: c.Version, Started: started, Ready: c.bridge.Ready, Disk: func() int64 { return freeBytes(dir) },
			Sessions: c.sessions, Relay: c.relay, Store: c.store, Metrics: c.metrics, Replicas: c.replicas, Cluster: c.clusterStatus,
		}
		return s.Report(ctx, args.Top)
	})}
}

// syncOrders let commands fetch what another relay has.
func (c *process) syncOrders() []control.Order {
	return []control.Order{control.NewTellingOrder(orders.Sync, func(ctx context.Context, args orders.SyncArgs, tell func(any)) (any, error) {
		if !c.up.Load() {
			return nil, errStarting
		}
		with := c.following()
		with.Metrics = nil // which count by the place in the configuration
		return wiring.SyncOnce(ctx, with, replica.Spec{URL: args.URL, Key: args.KeyFile, Filter: args.Filter}, func(s replica.Status) { tell(s) })
	})}
}

// snapshotOrders restore beside clients, who see it at once.
func (c *process) snapshotOrders() []control.Order {
	return []control.Order{
		control.NewOrder(orders.Restore, func(ctx context.Context, args orders.RestoreArgs) (any, error) {
			q, err := args.Request()
			if err != nil {
				return nil, err
			}
			return c.snapshots.Restore(ctx, q)
		}),
		control.NewOrder(orders.MayRestore, func(ctx context.Context, args orders.RestoreArgs) (any, error) {
			return orders.Refusals(ctx, c.snapshots, args)
		}),
		control.NewOrder(orders.Release, func(ctx context.Context, args orders.QuarantineArgs) (any, error) {
			return c.snapshots.ReleaseQuarantine(ctx, args.Name)
		}),
		control.NewOrder(orders.Drop, func(ctx context.Context, args orders.QuarantineArgs) (any, error) {
			return struct{}{}, c.snapshots.DropQuarantine(ctx, args.Name)
		}),
	}
}
