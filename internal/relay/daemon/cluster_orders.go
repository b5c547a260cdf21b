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
var errNotHalted = errors.New("this relay has not halted: there is nothing to recover from")

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
			id, err := removable(a, node.Members(), node.Live(), m.me.Node)
			if err == nil {
				if _, version := node.Configuration(); version < 2 { // others could not read it
					err = errors.New("this is known from version 2 of the cluster on: engramd cluster raise 2")
				}
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
func removable(a orders.RemoveArgs, members, live []cluster.Member, own cluster.NodeID) (id cluster.NodeID, err error) {
	var ids []string
	for _, one := range members {
		if one.Name == a.Node || one.ID.String() == a.Node {
			id, ids = one.ID, append(ids, one.ID.String())
		}
	}
	switch {
	case len(ids) == 0:
		return id, fmt.Errorf("no member is called %q: engramd cluster doctor lists them", a.Node)
	case len(ids) > 1:
		return id, fmt.Errorf("%d members are called %q: say which by its id: %s", len(ids), a.Node, strings.Join(ids, ", "))
	case id == own:
		return id, errors.New("this is the node that you ask: stop it, and engramd cluster leave takes it out")
	case !a.Live && slices.ContainsFunc(live, func(one cluster.Member) bool { return one.ID == id }):
		return id, fmt.Errorf("%s runs: stop it, and engramd cluster leave there takes it out; with --yes it ends, and must join again", a.Node)
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
	now, _ := node.Configuration()
	next, err := config.WithShared(config.Default(), text)
	if err != nil {
		return cluster.Configure{}, err
	}
	if fixed := fixedIn(next, now); len(fixed) > 0 {
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
	node := m.node.Load()
	applied, _ := node.Applied()
	same := node.Comparison()
	return metrics.Cluster{
		Applied: float64(applied), Commands: float64(same.Commands), HashCompared: float64(same.Compared), Differing: float64(len(same.Differing)), Members: float64(len(node.Members())),
		LiveMembers: float64(len(node.Live())), Leads: node.Leads(),
	}
}

// report is this node's part of engramd status.
func (m *member) report() *status.Cluster {
	node := m.node.Load()
	applied, _ := node.Applied()
	end, offset := m.metrics.ClusterLog.ClusterSeen()
	_, version := node.Configuration()
	same := node.Comparison()
	r := &status.Cluster{
		Name: m.name, Applied: applied, LogEnd: max(end, applied), Commands: same.Commands, Compared: same.Compared, Leads: node.Leads(),
		Differing: same.Differing, Clock: offset.Seconds(), Version: version,
	}
	if err := node.Err(); err != nil {
		r.Why = err.Error()
	}
	live := map[string]bool{}
	for _, one := range node.Live() {
		live[one.ID.String()] = true
	}
	leader, now := node.Leader(), node.Clock()
	for _, one := range node.Members() {
		r.Members = append(r.Members, status.Member{
			Name: one.Name, Version: one.Version, Heard: max(0, now.Sub(one.Heard)).Round(time.Millisecond).Seconds(), Durable: one.Durable,
			Live: live[one.ID.String()], Leads: one.ID == leader,
		})
	}
	return r
}

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
