package proof

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/cluster/work"
	"engramd/internal/relay/cluster/verify"
)

// seed returns a random seed, or ENGRAM_SEED.
func seed(t *testing.T) uint64 {
	n, err := strconv.ParseUint(os.Getenv("ENGRAM_SEED"), 10, 32)
	if err != nil {
		n = uint64(rand.Uint32())
	}
	t.Logf("ENGRAM_SEED=%d", n)
	return n
}

// storm is a workload on nodes that suffer faults.
type storm struct {
	*nodes.Cluster
	t      *testing.T
	w      *work.World
	chance *rand.Rand
	end    func()
}

func newStorm(t *testing.T, o nodes.Options) *storm {
	n := seed(t)
	s := &storm{Cluster: nodes.Start(t, o), t: t, chance: rand.New(rand.NewPCG(n, 0))}
	s.w = work.NewWorld(s, nodes.ManagerKey(), nodes.Name, n)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.w.Run(ctx)
	}()
	s.end = func() { cancel(); <-ended }
	t.Cleanup(s.end)
	return s
}

// calm waits until every node has acknowledged more, and every kind of work
// goes on.
func (s *storm) calm(more int) {
	s.t.Helper()
	before := map[string]int{}
	for i := range s.Nodes() {
		what := verify.AcknowledgedAt(i)
		before[what] = s.w.Counted(what)
	}
	s.Until("every node acknowledges", wait, func() error {
		for what, n := range before {
			if now := s.w.Counted(what); now < n+more {
				return fmt.Errorf("%s: %d, and %d before", what, now, n)
			}
		}
		return nil
	})
}

func (s *storm) strike(b nodes.Blow) {
	s.t.Helper()
	began := time.Now()
	if err := b.Strike(s.t.Context(), s.Cluster, s.chance); err != nil {
		s.t.Fatalf("%s: %v", b.Name, err)
	}
	s.calm(5)
	s.t.Logf("%s: all acknowledge again %v after it began", b.Name, time.Since(began).Round(10*time.Millisecond))
}

// judge ends the work and compares the databases with what was acknowledged.
func (s *storm) judge() {
	s.t.Helper()
	s.end()
	s.t.Log(s.w.Summary())
	if err := s.AllReady(); err != nil {
		s.t.Fatal(err)
	}
	if err := s.w.Judge(); err != nil {
		s.t.Fatal(err)
	}
	for _, v := range s.w.Violations() {
		s.t.Error(v)
	}
	wantSame(s.t, s.Cluster)
	for _, what := range []string{"reads", "subscriptions", "bans", "a header at two nodes", "an open contract"} {
		if s.w.Counted(what) == 0 {
			s.t.Errorf("the workload was too short: no %s", what)
		}
	}
}

// TestStorm: while each fault happens once, nothing acknowledged is lost and no
// promise is broken. The clocks of two nodes are wrong, and the third runs with
// the race detector.
func TestStorm(t *testing.T) {
	t.Parallel()
	s := newStorm(t, nodes.Options{
		Clocks: map[int]time.Duration{1: 5 * time.Minute, 2: -5 * time.Minute},
		Race:   map[int]bool{0: true},
	})
	s.calm(50)
	blows := nodes.Blows()
	for _, i := range s.chance.Perm(len(blows)) {
		s.strike(blows[i])
	}
	s.judge()
}

// TestKilledAgain is a soak of fifty kills.
func TestKilledAgain(t *testing.T) {
	if !nodes.Soak() {
		t.Skip("a soak: make cluster-soak")
	}
	s := newStorm(t, nodes.Options{})
	kills := nodes.Kills()
	for range 50 {
		s.strike(kills[s.chance.IntN(len(kills))])
	}
	s.judge()
}

// TestTwoAtOnce is a soak in which a node and the servers fail at the same
// time.
func TestTwoAtOnce(t *testing.T) {
	if !nodes.Soak() {
		t.Skip("a soak: make cluster-soak")
	}
	s := newStorm(t, nodes.Options{Race: map[int]bool{0: true, 1: true, 2: true}})
	var ofNodes, ofServers []nodes.Blow
	for _, b := range nodes.Blows() {
		if b.Server {
			ofServers = append(ofServers, b)
		} else {
			ofNodes = append(ofNodes, b)
		}
	}
	for range 12 {
		one, two := ofNodes[s.chance.IntN(len(ofNodes))], ofServers[s.chance.IntN(len(ofServers))]
		own, done := rand.New(rand.NewPCG(s.chance.Uint64(), 0)), make(chan error, 1)
		go func() { done <- one.Strike(t.Context(), s.Cluster, own) }()
		s.strike(nodes.Blow{Name: one.Name + ", and " + two.Name, Strike: func(ctx context.Context, c *nodes.Cluster, chance *rand.Rand) error {
			return errors.Join(two.Strike(ctx, c, chance), <-done)
		}})
	}
	s.judge()
}
