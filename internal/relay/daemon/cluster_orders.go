package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/config"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/management"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/replica"
	"engramd/internal/relay/status"
)

// errNotClustered answers orders to a relay that is alone.
var errNotClustered = errors.New("this relay is no node of a cluster")

// errNotHalted answers who would recover a node that works.
var errNotHalted = errors.New("this relay has not halted; there is nothing to recover")

// orders have all nodes do something.
func (m *member) orders() []control.Order {
	submit := func(ctx context.Context, command cluster.Command) (any, error) {
		node := m.node.Load()
		if node == nil {
			return nil, errNotClustered
		}
		answer, err := node.Submit(ctx, command)
		if err == nil && answer.Refused != "" {
			err = errors.New(answer.Refused)
		}
		return struct{}{}, err
	}
	return []control.Order{
		control.NewOrder(orders.Configure, func(ctx context.Context, a orders.ClusterArgs) (any, error) {
			command, err := m.proposed(a.Text)
			if err != nil {
				return nil, err
			}
			return submit(ctx, command)
		}),
		control.NewOrder(orders.Raise, func(ctx context.Context, a orders.ClusterArgs) (any, error) {
			return submit(ctx, cluster.Raise{Version: a.Number})
		}),
		control.NewOrder(orders.Remove, func(ctx context.Context, a orders.RemoveArgs) (any, error) {
			node := m.node.Load()
			if node == nil {
				return nil, errNotClustered
			}
			v := node.View()
			id, err := removable(a, v.Members, m.me.Node)
			if err == nil && v.Version < 2 { // others could not read it
				err = errors.New("remove needs version 2 of the cluster; run engramd cluster raise 2")
			}
			if err != nil {
				return nil, err
			}
			return submit(ctx, cluster.Remove{Node: id})
		}),
		control.NewOrder(orders.Recover, func(context.Context, struct{}) (any, error) { return nil, errNotHalted }),
	}
}

// removable returns the member that is meant by a name, or an id.
func removable(a orders.RemoveArgs, members []cluster.Member, own cluster.NodeID) (id cluster.NodeID, err error) {
	var ids []string
	live := false
	for _, one := range members {
		if one.Name == a.Node || one.ID.String() == a.Node {
			id, ids, live = one.ID, append(ids, one.ID.String()), one.Live
		}
	}
	switch {
	case len(ids) == 0:
		return id, fmt.Errorf("no member %q; engramd cluster doctor lists them", a.Node)
	case len(ids) > 1:
		return id, fmt.Errorf("%d members have the name %q; name one by its id: %s", len(ids), a.Node, strings.Join(ids, ", "))
	case id == own:
		return id, fmt.Errorf("%s is this node; stop it, and run engramd cluster leave", a.Node)
	case !a.Live && live:
		return id, fmt.Errorf("%s runs; stop it and run engramd cluster leave there, or confirm with --yes", a.Node)
	}
	return id, nil
}

// settled are shared options that cannot change while nodes run: by the gate's
// rules stored events are classed, by its own names a relay knows what is meant
// for it, and the outbox is made for its targets at a start.
var settled = []string{"gate.rules", "public_url", "contracts.publish_to"}

// proposed makes the command that puts other shared options into force.
func (m *member) proposed(text string) (cluster.Configure, error) {
	node := m.node.Load()
	if node == nil {
		return cluster.Configure{}, errNotClustered
	}
	next, err := config.WithShared(config.Default(), text)
	if err != nil {
		return cluster.Configure{}, err
	}
	if fixed := fixedIn(next, node.View().Shared); len(fixed) > 0 {
		return cluster.Configure{}, fmt.Errorf("%s cannot change while nodes run: leave and begin again (docs/cluster.md)", strings.Join(fixed, ", "))
	}
	live, err := wiring.DaemonLive(next)
	return cluster.Configure{Text: text, Live: live}, err
}

// fixedIn lists the settled options in which a configuration differs from what
// the nodes share now.
func fixedIn(next *config.Config, now string) (fixed []string) {
	for _, key := range config.SharedDiff(next, now) {
		if slices.Contains(settled, key) {
			fixed = append(fixed, key)
		}
	}
	return fixed
}

// figures are read at every scrape.
func (m *member) figures() metrics.Cluster {
	v, servers := m.node.Load().View(), m.seen.Load()
	if servers == nil {
		servers = new(seen)
	}
	return metrics.Cluster{
		ServersUnknown: float64(servers.unknown), ServersUnsynced: float64(servers.unsynced), Refuses: cluster.Refuses(m.node.Load()) != nil,
		Applied: float64(v.Applied), Commands: float64(v.Commands), HashCompared: float64(v.Compared), Differing: float64(len(v.Differing)), Members: float64(len(v.Members)),
		LiveMembers: float64(v.Live), Leads: v.Leads,
	}
}

// report is this node's part of engramd status.
func (m *member) report() *status.Cluster {
	v := m.node.Load().View()
	end, offset := m.metrics.ClusterLog.ClusterSeen()
	r := &status.Cluster{
		Name: m.name, Applied: v.Applied, LogEnd: max(end, v.Applied), Commands: v.Commands, Compared: v.Compared, Leads: v.Leads,
		Differing: v.Differing, Clock: offset.Seconds(), Version: v.Version,
	}
	r.Why, r.Refuses = m.trouble()
	if now := m.seen.Load(); now != nil {
		r.Servers = now.say
	}
	for _, one := range v.Members {
		r.Members = append(r.Members, status.Member{Name: one.Name, Version: one.Version, Heard: seconds(one.Heard), Durable: one.Durable, Live: one.Live, Leads: one.Leads})
	}
	return r
}

// seconds are a duration for people.
func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

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
				Sessions: p.surfaces.sessions.Status, Undelivered: p.relay.Undelivered, Damaged: p.store.Rotten, Space: p.store.Space, Recent: p.store.Recent,
				Metrics: p.metrics.Values, Replicas: p.replicas.set.Status, Clock: p.clock.Status,
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
			with.Observe = func(int, string, string) {} // ours count by the place in the configuration
			return wiring.SyncOnce(ctx, with, replica.Spec{URL: args.URL, Key: args.KeyFile, Filter: args.Filter}, func(s replica.Status) { tell(s) })
		}),
	}
}
