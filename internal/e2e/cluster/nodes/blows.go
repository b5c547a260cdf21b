package nodes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"engramd/internal/e2e/cluster/rig"
)

// Blow is something that happens to nodes or servers, and is over when Strike
// returns: whatever was killed runs again, whatever was cut is whole.
type Blow struct {
	Name   string
	Server bool // it is the log's servers that it happens to
	Strike func(ctx context.Context, c *Cluster, chance *rand.Rand) error
}

// Blows are all kinds.
func Blows() []Blow {
	return []Blow{
		{"a node is killed", false, killNode},
		{"a node is stopped and goes on", false, stopNode},
		{"a node is started again", false, restartNode},
		{"a server is killed", true, func(ctx context.Context, c *Cluster, r *rand.Rand) error { return killServers(ctx, c, r, 1) }},
		{"two servers are killed", true, func(ctx context.Context, c *Cluster, r *rand.Rand) error { return killServers(ctx, c, r, 2) }},
		{"a server is stopped and goes on", true, stopServer},
		{"a node is cut off", false, ways(rig.Cut, true)},
		{"a node's connections are black holes", false, ways(rig.BlackHole, true)},
		{"a node's connections are half open", false, ways(rig.HalfOpen, true)},
		{"a node's way to one server is a black hole", false, ways(rig.BlackHole, false)},
		{"a server is cut off from the others", true, isolate(rig.Cut)},
		{"a server's ways to the others are black holes", true, isolate(rig.BlackHole)},
	}
}

// Cuts are those between two servers of which both still hear the third: of the soak.
func Cuts() []Blow {
	return []Blow{
		{"two servers are cut off from each other", true, between(func(c *Cluster, a, b int) { c.Between(a, b, rig.Cut) })},
		{"a server does not hear another", true, between(func(c *Cluster, a, b int) { c.OneWay(a, b) })},
		{"a node's servers do not hear it", false, ways(rig.Deaf, true)},
	}
}

// between cuts the server that leads the log from another one, either way.
func between(cut func(c *Cluster, a, b int)) func(context.Context, *Cluster, *rand.Rand) error {
	return func(ctx context.Context, c *Cluster, chance *rand.Rand) error {
		a := c.Leader("engramd")
		b := (a + 1 + chance.IntN(c.Count()-1)) % c.Count()
		if chance.IntN(2) == 0 {
			a, b = b, a
		}
		cut(c, a, b)
		during(ctx, 5*time.Second, 15*time.Second, chance)
		c.Between(a, b, rig.Healed)
		c.Settle()
		return nil
	}
}

// Kills are those of a soak.
func Kills() []Blow { b := Blows(); return []Blow{b[0], b[0], b[1], b[3], b[4]} }

// during waits while something is broken, at least as long as said.
func during(ctx context.Context, least, most time.Duration, chance *rand.Rand) {
	select {
	case <-ctx.Done():
	case <-time.After(least + time.Duration(chance.Int64N(int64(most-least)+1))):
	}
}

func (c *Cluster) anyNode(chance *rand.Rand) *Node { return c.nodes[chance.IntN(len(c.nodes))] }

func killNode(ctx context.Context, c *Cluster, chance *rand.Rand) error {
	n := c.anyNode(chance)
	n.Kill()
	during(ctx, 0, 2*time.Second, chance)
	return n.Start()
}

func restartNode(_ context.Context, c *Cluster, chance *rand.Rand) error {
	n := c.anyNode(chance)
	if err := n.Term(); err != nil {
		return err
	}
	return n.Start()
}

func stopNode(ctx context.Context, c *Cluster, chance *rand.Rand) error {
	n := c.anyNode(chance)
	n.Stop()
	during(ctx, 5*time.Second, c.longest(), chance)
	n.Cont()
	return nil
}

// longest is how long a process is stopped at most.
func (c *Cluster) longest() time.Duration {
	if Soak() {
		return 20 * time.Second
	}
	return 6 * time.Second
}

func killServers(ctx context.Context, c *Cluster, chance *rand.Rand, many int) error {
	which := chance.Perm(c.Count())[:many]
	for _, i := range which {
		c.Kill(i)
	}
	during(ctx, time.Second, 3*time.Second, chance)
	for _, i := range which {
		c.Rig.Start(i)
	}
	c.Settle()
	return nil
}

func stopServer(ctx context.Context, c *Cluster, chance *rand.Rand) error {
	i := chance.IntN(c.Count())
	c.Stop(i)
	during(ctx, 5*time.Second, c.longest(), chance)
	c.Cont(i)
	c.Settle()
	return nil
}

// ways breaks the ways of a node to all servers, or to one.
func ways(s rig.State, all bool) func(context.Context, *Cluster, *rand.Rand) error {
	return func(ctx context.Context, c *Cluster, chance *rand.Rand) error {
		n, one := c.anyNode(chance), chance.IntN(c.Count())
		if all {
			n.Way.SetAll(s)
		} else {
			n.Way.Set(one, s)
		}
		during(ctx, 2*time.Second, 5*time.Second, chance)
		n.Way.SetAll(rig.Healed)
		return nil
	}
}

func isolate(s rig.State) func(context.Context, *Cluster, *rand.Rand) error {
	return func(ctx context.Context, c *Cluster, chance *rand.Rand) error {
		i := chance.IntN(c.Count())
		c.Isolate(i, s)
		during(ctx, 3*time.Second, 6*time.Second, chance)
		c.Isolate(i, rig.Healed)
		c.Settle()
		return nil
	}
}

// AllReady waits until every node is.
func (c *Cluster) AllReady() error {
	for _, n := range c.nodes {
		if !n.Runs() {
			return fmt.Errorf("node %d has ended", n.Index)
		}
		if err := n.AwaitReady(ReadyLimit); err != nil {
			return err
		}
	}
	return nil
}

// Up are the nodes whose processes run and are ready.
func (c *Cluster) Up() (up []int) {
	for _, n := range c.nodes {
		if n.Runs() && Ready(n.child(), time.Second) == nil {
			up = append(up, n.Index)
		}
	}
	return up
}
