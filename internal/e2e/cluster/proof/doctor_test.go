package proof

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/cluster/rig"
)

// advised waits until the doctor, asked at a node, says all that is wanted and nothing
// else is to be done; without any it must be content.
func advised(t *testing.T, c *nodes.Cluster, i int, want ...string) {
	t.Helper()
	c.Until(fmt.Sprintf("advice %q", want), wait, func() error {
		r := c.Node(i).Run("doctor")
		_, list, _ := strings.Cut(string(r.Stdout), "TO DO\n")
		if _, servers, _ := strings.Cut(string(r.Stdout), "SERVER"); strings.Count(servers, "leads") != 1 {
			return fmt.Errorf("not one leads: %s", servers)
		}
		if r.Code != min(len(want), 1) || strings.Count(list, "\n") != len(want) {
			return fmt.Errorf("%d: %s%s", r.Code, r.Stdout, r.Stderr)
		}
		for _, one := range want {
			if !strings.Contains(list, one) {
				return fmt.Errorf("not %q: %s", one, list)
			}
		}
		return nil
	})
}

// The doctor names what is wrong, of nodes and of servers, and nothing else; who leaves
// or is removed counts no more, at once.
func TestDoctor(t *testing.T) {
	t.Parallel()
	c := nodes.Start(t, nodes.Options{Clocks: map[int]time.Duration{2: time.Hour}})
	advised(t, c, 0, "the clock of node n2 is 1h0m0s off")
	c.Node(2).Kill()
	advised(t, c, 0, "node n2 does not answer")
	c.Node(2).RightClock()
	c.Node(2).MustStart()
	advised(t, c, 1)

	if r := c.Node(0).Run("remove", "n2"); r.Code == 0 || !strings.Contains(r.Stderr, "n2 runs") {
		t.Errorf("a node that runs: %d %s", r.Code, r.Stderr)
	}
	c.Node(2).Kill()
	if r := c.Node(0).Run("remove", "n2", "--yes"); r.Code != 0 {
		t.Errorf("remove: %s", r.Stderr)
	}
	advised(t, c, 1)
	if err := c.Node(1).Term(); err != nil {
		t.Fatal(err)
	}
	advised(t, c, 0, "node n1 does not answer")
	if r := c.Node(1).Run("leave"); r.Code != 0 || r.Stderr != "" {
		t.Errorf("leave: %d %s", r.Code, r.Stderr)
	}
	advised(t, c, 0)
	if err := c.Node(1).Rejoin(c.Node(0)); err != nil {
		t.Fatal(err)
	}
	advised(t, c, 0)

	c.Rig.Kill(2)
	advised(t, c, 0, c.Name(2)+" of the log: it does not answer", "cluster.monitor: ")
	c.Restart(2, func(s *rig.Settings) { s.Sync = "" })
	advised(t, c, 0, "sync_interval of server "+c.Name(2))
}

// Who leaves says so in no log but that of its own cluster: a message of another one
// would stop all its nodes.
func TestLeaveOfAnotherLog(t *testing.T) {
	t.Parallel()
	c := nodes.Start(t, nodes.Options{Count: 2})
	for i := range 2 {
		if err := c.Node(i).Term(); err != nil {
			t.Fatal(err)
		}
	}
	js, err := jetstream.New(c.Connect(), jetstream.WithDefaultTimeout(wait))
	if err == nil {
		err = js.DeleteStream(t.Context(), stream)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"leave", "init"} {
		if r := c.Node(0).Run(verb); r.Code != 0 {
			t.Fatalf("%s: %s", verb, r.Stderr)
		}
	}
	c.Node(0).MustStart()
	if r := c.Node(1).Run("leave"); r.Code != 0 || !strings.Contains(r.Stderr, "another cluster's") {
		t.Errorf("leave: %d %s", r.Code, r.Stderr)
	}
	advised(t, c, 0)
}
