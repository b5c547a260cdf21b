package daemon

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/ingest"
	"engramd/internal/relay/snapshots"
)

// keeper runs the daemon's own work on snapshots: retention and the schedule.
type keeper struct {
	cancel  context.CancelFunc
	working sync.WaitGroup
}

// openSnapshots makes the service for the control socket, the management API
// and the daemon itself.
func (c *process) openSnapshots() (err error) {
	if c.rules, err = ingest.NewRules(c.relay.Names(), wiring.PolicyOptions(c.cfg, nil, nil)); err != nil {
		return wiring.Usage(err)
	}
	settings, err := wiring.SnapshotSettings(c.cfg)
	if err != nil {
		return err
	}
	o := wiring.SnapshotOptions(c.cfg, settings, c.Version)
	// The key is found later, before anything is asked of the service.
	o.Sign = func(ev *nostr.Event) error { return c.keys.Sign(ev) }
	o.Trusted = func(ctx context.Context) ([]string, error) { return c.keys.Trusted(ctx) }
	o.Process = fmt.Sprintf("that is the running relay (pid %d), which takes it at its start", os.Getpid())
	o.Store, o.Rules, o.Events, o.Metrics, o.Log = c.store, c.rules, c.events, c.metrics.Snapshots, c.log
	c.snapshots = snapshots.New(o)
	return nil
}

func (c *process) startKeeper() {
	ctx, cancel := context.WithCancel(context.Background())
	c.keeper.cancel = cancel
	worker := snapshots.NewWorker(c.snapshots, time.After)
	worker.Schedule(c.leading.alone())
	c.keeper.working.Go(func() { worker.Run(ctx) })
	if c.leading.alone() {
		return
	}
	c.keeper.working.Go(func() {
		c.leading.while(ctx, func(ctx context.Context) {
			worker.Schedule(true)
			<-ctx.Done()
			worker.Schedule(false)
		})
	})
}

// stop ends what is under way: a bundle that is not whole leaves nothing.
func (k *keeper) stop() {
	if k.cancel != nil {
		k.cancel()
	}
	k.working.Wait()
}
