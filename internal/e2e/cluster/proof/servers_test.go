package proof

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/cluster/rig"
	"engramd/internal/e2e/relaytest"
)

// watched are nodes that look at the log's servers all the time, and take no writes a
// second after one was seen that does not sync.
func watched(fault string) nodes.Options {
	return nodes.Options{Alone: true, Faults: map[int]string{0: fault, 1: fault, 2: fault}}
}

// seen waits until every node says of the log's servers what is wanted: in its metrics,
// at /readyz and in engramd status.
func seen(t *testing.T, c *nodes.Cluster, unknown, unsynced, refuses float64, says string) {
	t.Helper()
	for i := range c.Nodes() {
		n := c.Node(i)
		c.Until(fmt.Sprintf("node %d sees %v unknown, %v that do not sync", i, unknown, unsynced), wait, func() error {
			if !n.Runs() || n.Halted() {
				return errors.New("it has ended")
			}
			for name, want := range map[string]float64{"servers_unknown": unknown, "servers_unsynced": unsynced, "refuses_writes": refuses} {
				if got, err := n.Child().Metric("engramd_cluster_" + name); err != nil || got != want {
					return fmt.Errorf("%s is %v, %v", name, got, err)
				}
			}
			response, err := http.Get(n.Child().HTTP("/readyz"))
			if err != nil {
				return err
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			detail := unknown+unsynced == 0 || strings.Contains(string(text), "log")
			if err != nil || (response.StatusCode == http.StatusOK) != (refuses == 0) || !detail || strings.Contains(string(text), "s0") {
				return fmt.Errorf("/readyz is %d %s, %v", response.StatusCode, text, err)
			}
			if r := n.Command("", "status"); r.Code != 0 || !strings.Contains(string(r.Stdout), says) {
				return fmt.Errorf("status does not say %q: %d %s", says, r.Code, r.Stdout)
			}
			return nil
		})
	}
}

// takes publishes at every node, and reads there.
func takes(t *testing.T, c *nodes.Cluster, k relaytest.Key) error {
	t.Helper()
	for i := range c.Nodes() {
		ev := note(k, fmt.Sprint("at ", i))
		ok, err := c.Dial(i).Publish(ev)
		if err != nil || !ok.True {
			return fmt.Errorf("node %d: OK %v %q, %v", i, ok.True, ok.Message, err)
		}
		for j := range c.Nodes() {
			if got, err := c.Dial(j).Query(relaytest.Filter{"ids": []string{ev.ID}}); err != nil || len(got.Events) != 1 {
				return fmt.Errorf("node %d shows %d events, %v", j, len(got.Events), err)
			}
		}
	}
	return nil
}

// A server of the log is started again without sync_interval: always while nodes run.
// That is said, and after a while nothing is written; reads go on. When it is mended
// writes do by themselves.
func TestServerThatDoesNotSync(t *testing.T) {
	t.Parallel()
	c := nodes.Start(t, watched("refuse-soon"))
	k := relaytest.NewKey(2141)
	before := note(k, "before")
	mustStore(t, c.Dial(0), before)
	c.Rig.Kill(1)
	c.Restart(1, func(s *rig.Settings) { s.Sync = "2m" })
	seen(t, c, 0, 1, 1, "engramd cluster remove-server "+c.Name(1))
	for i := range c.Nodes() {
		cl := c.Dial(i)
		ok, err := cl.Publish(note(k, "refused"))
		if err != nil || ok.True || !strings.HasPrefix(ok.Message, "error: a server of the log does not sync") {
			t.Errorf("node %d: OK %v %q, %v", i, ok.True, ok.Message, err)
		}
		c.Until("it reads on", wait, func() error { // not while the log's leader is elected, perhaps
			if got, err := cl.Query(relaytest.Filter{"ids": []string{before.ID}}); err != nil || len(got.Events) != 1 {
				return fmt.Errorf("node %d: %+v, %v", i, got, err)
			}
			return nil
		})
		if !c.Node(i).Said("sync_interval of server "+c.Name(1)) || !c.Node(i).Said("takes=false") {
			t.Errorf("node %d does not log it", i)
		}
	}
	r := c.Node(0).Run("doctor")
	for _, want := range []string{"sync_interval of server " + c.Name(1), "node n2: it takes no writes"} {
		if r.Code != 1 || !strings.Contains(string(r.Stdout), want) {
			t.Errorf("the doctor does not say %q: %d %s", want, r.Code, r.Stdout)
		}
	}
	n := c.Node(2) // at a start it is refused
	n.Kill()
	if err := n.Start(); err == nil || !n.Said("sync_interval of server "+c.Name(1)) {
		t.Errorf("a node starts: %v", err)
	}
	c.Rig.Kill(1)
	c.Restart(1, func(s *rig.Settings) { s.Sync = "always" })
	c.Until("it starts", wait, n.Start) // with the fault it is less patient than an election
	c.Until("writes go on", wait, func() error { return takes(t, c, k) })
	seen(t, c, 0, 0, 0, "CLUSTER")
	wantSame(t, c)
}

// A server that no node has a monitoring URL of takes the copy of one that is removed
// while nodes run. The nodes report it and go on; a node that starts refuses it.
func TestServerReplaced(t *testing.T) {
	t.Parallel()
	c := nodes.Start(t, watched("refuse-soon"))
	k := relaytest.NewKey(2142)
	gone := c.Name(2)
	r := c.Node(0).Run("remove-server", gone)
	if r.Code == 0 || !strings.Contains(r.Stderr, "cluster.system_credentials") {
		t.Errorf("without a user who may: %d %s", r.Code, r.Stderr)
	}
	remove := []string{gone, "--cluster-system-credentials", c.Client().SystemCredentials()}
	if r = c.Node(0).Run("remove-server", remove...); r.Code == 0 || !strings.Contains(r.Stderr, "--yes") {
		t.Errorf("there is no other server: %d %s", r.Code, r.Stderr)
	}
	added := c.Add()
	c.Rig.Kill(2)
	seen(t, c, 1, 0, 0, "server "+gone+" of the log: it does not answer")
	if r = c.Node(0).Run("remove-server", remove...); r.Code != 0 {
		t.Fatalf("%d %s", r.Code, r.Stderr)
	}
	says := "server " + c.Name(added) + " of the log: it keeps the log, and no URL in cluster.monitor that answers leads to it" // that of the dead one fails
	seen(t, c, 1, 0, 0, says)
	c.Until("work goes on", wait, func() error { return takes(t, c, k) })
	c.Until("the doctor says so", wait, func() error {
		if r := c.Node(1).Run("doctor"); !strings.Contains(string(r.Stdout), says) {
			return fmt.Errorf("%s%s", r.Stdout, r.Stderr)
		}
		return nil
	})
	n := c.Node(2)
	n.Kill()
	if err := n.Start(); err == nil || !n.Said("server "+c.Name(added)+" keeps the log and does not tell") {
		t.Errorf("a node starts: %v", err)
	}
	c.Configure(n) // the operator adds it
	n.MustStart()
	c.Until("work goes on", wait, func() error { return takes(t, c, k) })
	wantSame(t, c)
}
