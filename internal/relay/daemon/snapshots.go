package daemon

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/ingest"
	"engramd/internal/relay/notify"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/snapshots"
	"engramd/internal/relay/store/sqlite"
)

// snapshotKeeper is the snapshots' service, with the daemon's own work on them:
// retention and the schedule.
type snapshotKeeper struct {
	common
	imports policy.Hook // what imports and restores may bring
	service *snapshots.Service
	cancel  context.CancelFunc
	working sync.WaitGroup
}

// open makes the service for the control socket, the management API and the
// daemon itself. The keys are found later, before anything is asked of it.
func (k *snapshotKeeper) open(cfg *config.Config, names relay.Names, s *sqlite.Store, own *ownKeys, events *notify.Publisher) (err error) {
	if k.imports, err = ingest.NewRules(names, wiring.PolicyOptions(cfg, nil, nil)); err != nil {
		return wiring.Usage(err)
	}
	settings, err := wiring.SnapshotSettings(cfg)
	if err != nil {
		return err
	}
	o := wiring.SnapshotOptions(cfg, settings, k.version)
	o.Sign = func(ev *nostr.Event) error { return own.ring.Sign(ev) }
	o.Trusted = func(ctx context.Context) ([]string, error) { return own.ring.Trusted(ctx) }
	o.Process = fmt.Sprintf("that is the running relay (pid %d), which takes it at its start", os.Getpid())
	o.Clock, o.Confirmed = k.member.now, k.clock.Confirmed
	o.Store, o.Rules, o.Events, o.Metrics, o.Log = s, k.imports, events, k.metrics.Snapshots, k.log
	k.service = snapshots.New(o)
	return nil
}

// start begins that work; the schedule is for the node that leads.
func (k *snapshotKeeper) start() {
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	worker := snapshots.NewWorker(k.service, time.After)
	worker.Schedule(k.lead.alone())
	k.working.Go(func() { worker.Run(ctx) })
	if k.lead.alone() {
		return
	}
	k.working.Go(func() {
		k.lead.while(ctx, func(ctx context.Context) {
			worker.Schedule(true)
			<-ctx.Done()
			worker.Schedule(false)
		})
	})
}

// stop ends what is under way: a bundle that is not whole leaves nothing.
func (k *snapshotKeeper) stop() {
	if k.cancel != nil {
		k.cancel()
	}
	k.working.Wait()
}

// orders restore beside clients, who see it at once.
func (k *snapshotKeeper) orders() []control.Order {
	return []control.Order{
		control.NewOrder(orders.Restore, func(ctx context.Context, args orders.RestoreArgs) (any, error) {
			q, err := args.Request()
			if err != nil {
				return nil, err
			}
			return k.service.Restore(ctx, q)
		}),
		control.NewOrder(orders.MayRestore, func(ctx context.Context, args orders.RestoreArgs) (any, error) {
			return orders.Refusals(ctx, k.service, args)
		}),
		control.NewOrder(orders.Release, func(ctx context.Context, args orders.QuarantineArgs) (any, error) {
			return k.service.ReleaseQuarantine(ctx, args.Name)
		}),
		control.NewOrder(orders.Drop, func(ctx context.Context, args orders.QuarantineArgs) (any, error) {
			return struct{}{}, k.service.DropQuarantine(ctx, args.Name)
		}),
	}
}
