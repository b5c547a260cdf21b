package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// clustered is what this process has of other nodes. Its zero value is a process
// that is alone.
type clustered struct {
	me      membership.Identity
	name    string // for people
	conn    *jetstream.Conn
	node    atomic.Pointer[cluster.Node]
	lead    changes // whether this node leads may have changed
	cancel  context.CancelFunc
	stopped chan struct{} // closed when the node has ended
	end     []func()
}

// clustered reports whether this process is one of several nodes.
func (c *process) clustered() bool { return c.cfg.Cluster.Enabled }

// now is the log's time, the machine's where there is no log.
func (c *process) now() time.Time {
	if node := c.cluster.node.Load(); node != nil {
		return node.Clock()
	}
	return time.Now()
}

// openLog connects to the log, sees that its servers are set up as they must be,
// and says to the parts above what is different from now on. It comes before the
// database is opened.
func (c *process) openLog(ctx context.Context) (err error) {
	if !c.clustered() {
		return nil
	}
	k := &c.cluster
	if k.me, err = membership.NextBoot(c.cfg.Data); err != nil {
		return err
	}
	k.name = membership.Name(c.cfg)
	o := membership.LogOptions(c.cfg)
	o.Log = c.log
	if k.conn, err = jetstream.Open(ctx, o); err != nil {
		return err
	}
	if err := k.conn.Check(ctx); err != nil {
		return err
	}
	if c.cfg.Cluster.Reads != "local" {
		c.latest = func(ctx context.Context) error { return k.node.Load().Latest(ctx) }
	}
	c.ephemeral = func(_ *nostr.Event, json []byte) {
		if err := k.conn.Publish(context.Background(), ephemeralEvents, json); err != nil {
			c.log.Debug("an ephemeral event was not handed to other nodes", "err", err)
		}
	}
	c.leading.leads = func() bool { return k.node.Load().Leads() }
	c.leading.changed = k.lead.next
	c.leading.lease = func(ctx context.Context) context.Context { return k.node.Load().Lease(ctx) }
	return nil
}

// ephemeralEvents is the subject of events that are handed from node to node and
// not stored.
const ephemeralEvents = "ephemeral"

// admit is the store's: what the lists say of an event at its place.
func (c *process) admit(ev *nostr.Event, vouched []string, ask store.Admitting) (*nip01.Refusal, error) {
	if bansAtOrigin(c.Env) {
		return nil, nil
	}
	return c.policy.AtPlace(ev, vouched, ask)
}

// listsChanged is the store's: a change of the operator's lists was executed.
func (c *process) listsChanged(cmd store.Command) {
	a, ok := cmd.(store.Administer)
	if !ok || c.admin == nil {
		return
	}
	if err := c.admin.Applied(a.Change); err != nil {
		c.cluster.node.Load().Halt(err)
		c.fail(err)
	}
}

// usedElsewhere notes the signature of a management call in the database, where
// a call at another node finds it; nil where there are no others.
func (c *process) usedElsewhere() func(ctx context.Context, id, key string) error {
	if !c.clustered() {
		return nil
	}
	return c.changed.Use
}

// errKeysInCluster answers who would change keys that all nodes have.
var errKeysInCluster = errors.New("all nodes of a cluster have this key: leave with one node, change it there, and begin again (docs/cluster.md)")

// aloneOnly refuses what cannot be done on a node of several.
func (c *process) aloneOnly() error {
	if !c.leading.alone() {
		return errKeysInCluster
	}
	return nil
}

// catchUp is how often it is said how far a node is that catches up.
const catchUp = 10 * time.Second

// runLog executes what the log says from now on, and returns when everything is
// executed here that was acknowledged before. Lists and rules must be in force.
func (c *process) runLog(ctx context.Context) error {
	if !c.clustered() {
		return nil
	}
	k := &c.cluster
	node := k.node.Load()
	inner, cancel := context.WithCancel(context.Background())
	k.cancel, k.stopped = cancel, make(chan struct{})
	go func() {
		defer close(k.stopped)
		if err := node.Run(inner); err != nil {
			c.fail(err)
		}
	}()
	if err := c.awaitLog(ctx, node); err != nil {
		return err
	}
	if err := k.begun(c.cfg.Data, true); err != nil {
		return err
	}
	_, version := node.Configuration()
	if err := c.asShared(c.cfg); err != nil {
		return err
	}
	if version > membership.Version {
		return fmt.Errorf("the cluster is at version %d, and this program goes up to %d", version, membership.Version)
	}
	return nil
}

// awaitLog waits until everything is executed, however long that takes.
func (c *process) awaitLog(ctx context.Context, node *cluster.Node) error {
	said := time.Now()
	for {
		err := node.Latest(ctx)
		if !errors.Is(err, cluster.ErrUnknown) {
			return err
		}
		if time.Since(said) >= catchUp {
			number, at := node.Applied()
			c.log.Info("catching up with the log, or waiting for it", "executed", number, "of", at.UTC().Format(time.RFC3339))
			said = time.Now()
		}
	}
}

// meetNodes begins what nodes do for each other, when everything is there.
func (c *process) meetNodes() error {
	if !c.clustered() {
		return nil
	}
	k, inner := &c.cluster, context.Background()
	stop, err := k.conn.Subscribe(ephemeralEvents, func(json []byte) { c.relay.DeliverEphemeral(json) })
	if err != nil {
		return err
	}
	k.end = append(k.end, stop,
		begin(inner, func(ctx context.Context) {
			k.conn.Watch(ctx, func(err error) {
				if errors.Is(err, jetstream.ErrRefused) {
					c.fail(err)
				}
			})
		}),
		begin(inner, func(ctx context.Context) {
			err := k.conn.Serve(ctx, jetstream.Peer{Temp: c.cfg.Data, Backup: c.store.Backup})
			if err != nil && ctx.Err() == nil {
				c.log.Error("no backups are given to nodes that join", "err", err)
			}
		}),
		begin(inner, c.watchLead))
	return nil
}

// watchLead tells whoever works while this node leads when that changes.
func (c *process) watchLead(ctx context.Context) {
	tick := time.NewTicker(leadEvery)
	defer tick.Stop()
	led := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		node := c.cluster.node.Load()
		if leads := node.Leads(); leads != led {
			led = leads
			c.cluster.lead.tell()
			c.log.Info("which node works for all has changed", "this", leads)
		}
		c.setPart(max(1, len(node.Live())))
	}
}

// leadEvery is how often it is looked whether this node leads: much less than a
// lease lasts.
const leadEvery = time.Second

// closeLog ends the node. What waits is answered that nobody knows what became
// of it. The database must be open still.
func (c *process) closeLog() {
	k := &c.cluster
	for _, end := range k.end {
		end()
	}
	k.end = nil
	if k.cancel != nil {
		k.cancel()
		<-k.stopped
	}
	if k.conn != nil {
		k.conn.Close()
	}
}
