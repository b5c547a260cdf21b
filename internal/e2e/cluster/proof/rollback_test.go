package proof

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/relaytest"
)

// TestLogRolledBack: the servers come back from an older copy while nodes run, of
// which one had read no more than the copy has, or none. No node goes on as if
// nothing were: each stays up, serves nothing, and says why, also after another start.
// Recovered one after the other, all have what any of them had acknowledged.
func TestLogRolledBack(t *testing.T) {
	for name, behind := range map[string]bool{"all ahead": false, "one behind": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := nodes.Start(t, nodes.Options{Alone: true})
			acknowledged := rollBack(t, c, behind)
			for i := range c.Nodes() {
				halts(t, c, i)
			}
			if r := c.Node(1).Command("", "status"); r.Code == 0 || !strings.Contains(r.Stderr, "engramd cluster recover") {
				t.Errorf("status of a halted node: %d %s", r.Code, r.Stderr)
			}
			if r := c.Node(0).Command("", "cluster", "doctor"); r.Code == 0 || !strings.Contains(string(r.Stdout), "node n1 has halted: ") {
				t.Errorf("the doctor does not see a halted node: %d %s%s", r.Code, r.Stdout, r.Stderr)
			}
			if r := c.Node(0).Command("no\n", "cluster", "recover"); r.Code == 0 || !strings.Contains(r.Stderr, "nothing was changed") {
				t.Errorf("who did not agree: %d %s%s", r.Code, r.Stdout, r.Stderr)
			}
			halts(t, c, 0)
			if err := c.Node(2).Term(); err != nil {
				t.Error(err)
			}
			if err := c.Node(2).Restart("this node has halted"); err != nil {
				t.Fatal(err)
			}
			for i := range c.Nodes() {
				said, err := c.Node(i).Recover()
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("node %d: %s", i, said)
			}
			wantSame(t, c)
			for i := range c.Nodes() {
				wantAll(t, c, i, acknowledged)
			}
			if r := c.Node(0).Command("", "cluster", "recover"); r.Code == 0 || !strings.Contains(r.Stderr, "has not halted") {
				t.Errorf("a node that works: %d %s", r.Code, r.Stderr)
			}
		})
	}
}

// wantAll asks a node for events by their ids.
func wantAll(t *testing.T, c *nodes.Cluster, i int, acknowledged map[string]string) {
	t.Helper()
	at := c.Dial(i)
	for id, text := range acknowledged {
		if got, err := at.Query(relaytest.Filter{"ids": []string{id}}); err != nil || len(got.Events) != 1 {
			t.Fatalf("node %d lacks %q: %v %v", i, text, got, err)
		}
	}
}

// halts waits until a node has halted, and looks that it says why and answers nothing.
func halts(t *testing.T, c *nodes.Cluster, i int) {
	t.Helper()
	n := c.Node(i)
	c.Until(fmt.Sprintf("node %d halts", i), wait, func() error {
		if !n.Runs() {
			t.Fatalf("node %d has ended", i)
		}
		if !n.Halted() {
			return fmt.Errorf("it goes on")
		}
		return nil
	})
	if !n.Said("the log has lost what it had acknowledged") && !n.Said("the majority of members has read another log") {
		t.Errorf("node %d does not say why it stopped", i)
	}
	if conn, err := relaytest.Dial(c.URL(i)); err == nil {
		conn.Close()
		t.Errorf("node %d takes connections", i)
	}
}

// recorded returns what stores n notes at a node, and the texts of all that it stored.
func recorded(t *testing.T, c *nodes.Cluster, key uint64) (write func(node int, what string, n int), acknowledged map[string]string) {
	k, acknowledged := relaytest.NewKey(key), map[string]string{}
	return func(node int, what string, n int) {
		t.Helper()
		at := c.Dial(node)
		for i := range n {
			ev := note(k, fmt.Sprint(what, i))
			mustStore(t, at, ev)
			acknowledged[ev.ID] = ev.Content
		}
	}, acknowledged
}

// rollBack puts the servers back to an older copy while nodes run, of which one is
// behind, or none, and returns what was acknowledged before and after.
func rollBack(t *testing.T, c *nodes.Cluster, behind bool) map[string]string {
	t.Helper()
	write, acknowledged := recorded(t, c, 1909)
	write(0, "kept ", 10)
	if behind {
		c.Node(2).Stop()
	}
	c.Off()
	back := c.Keep()
	c.On()
	for i := range 2 {
		if err := c.Node(i).AwaitReady(wait); err != nil {
			t.Fatal(err)
		}
	}
	write(0, "lost ", 200)
	if err := c.Node(1).AwaitReady(wait); err != nil {
		t.Fatal(err)
	}
	c.Off()
	if behind { // it is alone with the older log, and acknowledges
		c.Node(0).Stop()
		c.Node(1).Stop()
	}
	back()
	c.On()
	if behind {
		c.Node(2).Cont()
		if err := c.Node(2).AwaitReady(wait); err != nil {
			t.Fatal(err)
		}
		write(2, "after ", 30)
		c.Node(0).Cont()
		c.Node(1).Cont()
	}
	return acknowledged
}

// TestRecoverKilled: a recovery that is killed at any step leaves a node that halts
// again, and run once more loses nothing. A node that was off meanwhile brings what only
// it had when it comes back.
func TestRecoverKilled(t *testing.T) {
	t.Parallel()
	c := nodes.Start(t, nodes.Options{Alone: true})
	acknowledged := rollBack(t, c, true)
	for i := range c.Nodes() {
		halts(t, c, i)
	}
	killed := func(i int, steps ...string) {
		t.Helper()
		for _, step := range steps {
			before := c.Node(i).Halts()
			if err := c.Node(i).KillRecovery(step); err != nil {
				t.Fatal(err)
			}
			c.Until("it halts again", wait, func() error {
				if c.Node(i).Halts() == before {
					return errors.New("it says nothing")
				}
				return nil
			})
		}
	}
	recovered := func(i int) {
		t.Helper()
		said, err := c.Node(i).Recover()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("node %d: %s", i, said)
	}
	if err := c.Node(2).Term(); err != nil {
		t.Fatal(err)
	}
	killed(0, "noted", "removed", "left", "begun")
	recovered(0)
	recovered(1)
	elsewhere(t, c)
	if err := c.Node(2).Restart("this node has halted"); err != nil {
		t.Fatal(err)
	}
	killed(2, "noted", "placed")
	if err := c.Node(2).KillRecovery("joined"); err != nil {
		t.Fatal(err)
	}
	recovered(2)
	wantSame(t, c)
	for i := range c.Nodes() {
		wantAll(t, c, i, acknowledged)
	}
	if left, err := filepath.Glob(filepath.Join(c.Node(2).Data, "engramd.db.before-recover-*", "engramd.db")); err != nil || len(left) == 0 {
		t.Errorf("the database of before is not kept: %v", err)
	}
}

// elsewhere looks that nothing is begun again in the place of a cluster that was, by
// node 2, which is off, while the nodes of that one are.
func elsewhere(t *testing.T, c *nodes.Cluster) {
	t.Helper()
	for i := range 2 {
		if err := c.Node(i).Term(); err != nil {
			t.Fatal(err)
		}
	}
	if r := c.Node(2).Command("", "cluster", "recover", "--yes"); r.Code == 0 || !strings.Contains(r.Stderr, "is of cluster") {
		t.Errorf("%d %s%s", r.Code, r.Stdout, r.Stderr)
	}
	for i := range 2 {
		c.Node(i).MustStart()
	}
}
