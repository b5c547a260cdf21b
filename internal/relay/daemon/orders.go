package daemon

import (
	"context"
	"errors"
	"time"

	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/management"
	"engramd/internal/relay/replica"
	"engramd/internal/relay/status"
)

// errStarting means that there is nothing to tell yet.
var errStarting = errors.New("the daemon is starting")

// orders are what commands ask of the relay as a whole. They are answered on the
// control socket's goroutines, and read no configuration, which a reload replaces.
func (p *process) orders() []control.Order {
	started, dir := time.Now(), p.cfg.Data
	return []control.Order{
		control.NewOrder(orders.Delete, func(ctx context.Context, args orders.DeleteArgs) (any, error) {
			if args.Filters == nil {
				return nil, errors.New("nothing to delete was named")
			}
			done, err := wiring.Remove(ctx, p.store, args.Filters)
			p.log.Info("delete", "removed", management.Total(done), "complete", err == nil)
			return done, err
		}),
		control.NewOrder(orders.Status, func(ctx context.Context, args orders.StatusArgs) (any, error) {
			if !p.up.Load() {
				return nil, errStarting
			}
			s := status.Sources{
				Version: p.version, Started: started, Ready: p.surfaces.bridge.Ready, Disk: func() int64 { return freeBytes(dir) },
				Sessions: p.surfaces.sessions, Relay: p.relay, Store: p.store, Metrics: p.metrics, Replicas: p.replicas.set,
			}
			if !p.lead.alone() {
				s.Cluster = p.member.report
			}
			return s.Report(ctx, args.Top)
		}),
		control.NewTellingOrder(orders.Sync, func(ctx context.Context, args orders.SyncArgs, tell func(any)) (any, error) {
			if !p.up.Load() {
				return nil, errStarting
			}
			with := p.following()
			with.Metrics = nil // which count by the place in the configuration
			return wiring.SyncOnce(ctx, with, replica.Spec{URL: args.URL, Key: args.KeyFile, Filter: args.Filter}, func(s replica.Status) { tell(s) })
		}),
	}
}
