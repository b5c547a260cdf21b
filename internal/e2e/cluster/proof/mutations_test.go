package proof

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/cluster/work"
	"engramd/internal/relay/cluster/verify"
)

// trial is a short workload on nodes some of which may break a promise.
type trial struct {
	*nodes.Cluster
	t      *testing.T
	w      *work.World
	rounds int // for faults that one round may miss
}

// conn returns a connection to a node that lasts as long as the test.
func (x *trial) conn(node int) verify.Conn {
	c := x.w.Conn(node)
	x.t.Cleanup(c.Close)
	return c
}

// mutation is a fault in the program, and the workload that must find it.
type mutation struct {
	fault string // ENGRAM_FAULT
	nodes []int  // that have it
	clock time.Duration
	run   func(*trial)
	says  string // a part of the judge's message
}

// The fault of a sequence number that a redo uses up is not here: the tests of
// internal/relay/store/sqlite/events find it, which execute a recorded stream with
// failures in between.
var mutations = []mutation{
	{fault: "ok-before-append", nodes: []int{0}, run: acknowledgeNothing, says: "lost: "},
	{fault: "no-wait", nodes: []int{1}, run: readBehind, says: "read your own write"},
	{fault: "skip", nodes: []int{1}, run: writeMany, says: "lost: "},
	{fault: "own-time", nodes: []int{1}, clock: 5 * time.Minute, run: writeMany, says: "differ at message"},
	{fault: "end-from-log", nodes: []int{1}, run: askOldLeader, says: "read your own write"},
	{fault: "counters", nodes: []int{0, 1, 2}, run: replayABan, says: "a batch came twice"},
	{fault: "epochs", nodes: []int{0, 1, 2}, run: oldLease, says: "a lease that is over"},
	{fault: "bans-at-origin", nodes: []int{0, 1, 2}, run: banFromBehind, says: "was banned"},
}

// TestMutationsAreFound: the judge finds each fault, and finds none without it.
func TestMutationsAreFound(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.fault, func(t *testing.T) {
			t.Parallel()
			o := nodes.Options{Faults: map[int]string{}, Clocks: map[int]time.Duration{}}
			for _, n := range m.nodes {
				o.Faults[n], o.Clocks[n] = m.fault, m.clock
			}
			found := strings.Join(judged(t, o, m.run), "\n")
			if !strings.Contains(found, m.says) {
				t.Errorf("not found; the judge says: %q", found)
			}
			t.Log(found)
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		for _, v := range judged(t, nodes.Options{}, func(x *trial) {
			for _, m := range mutations {
				began := time.Now()
				m.run(x)
				t.Logf("%s: %v", m.fault, time.Since(began).Round(time.Millisecond))
			}
		}) {
			t.Error(v)
		}
	})
}

// judged runs a workload and returns all broken promises.
func judged(t *testing.T, o nodes.Options, run func(*trial)) []string {
	t.Helper()
	x := &trial{Cluster: nodes.Start(t, o), t: t, rounds: 1}
	if len(o.Faults) > 0 {
		x.rounds = 5
	}
	x.w = work.NewWorld(x, nodes.ManagerKey(), nodes.Name, uint64(time.Now().UnixNano()%1e6))
	run(x)
	if err := x.AllReady(); err != nil {
		x.w.Broken("%v", err)
		return x.w.Violations()
	}
	if err := x.w.Judge(); err != nil {
		x.w.Broken("%v", err)
	}
	difference, err := x.Same(t.Context())
	if err != nil {
		difference = err.Error()
	}
	if difference != "" {
		x.w.Broken("%s", difference)
	}
	return x.w.Violations()
}

// until publishes notes at a node until one is stored, and returns it.
func (x *trial) until(c verify.Conn) *verify.Write {
	x.t.Helper()
	var wrote *verify.Write
	x.Until(fmt.Sprintf("node %d stores", c.Node), wait, func() error {
		if wrote = x.w.Note(c); wrote.Outcome != verify.Stored {
			return fmt.Errorf("%q", wrote.Message)
		}
		return nil
	})
	return wrote
}
