package nodes

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"engramd/internal/e2e/cluster/rig"
	"engramd/internal/e2e/relaytest"
)

// Name is by which all nodes are known: signed calls may name it at each.
const Name = "relay.test"

// ManagerKey manages the nodes.
func ManagerKey() relaytest.Key { return relaytest.NewKey(1986) }

// Options say how nodes are started. The zero value is three that are well.
type Options struct {
	Count     int                      // empty: 3
	Faults    map[int]string           // ENGRAM_FAULT of some
	Clocks    map[int]time.Duration    // by how much the clocks of some are wrong
	ClockFile map[int]string           // files that say by how much the clocks of some are wrong at the moment
	Data      map[int]string           // data folders of some
	Server    func(int, *rig.Settings) // changes the settings of servers; may be nil
	Config    string                   // further tables of every node's file
	Reads     string                   // cluster.reads, if not the default
	Alone     bool                     // no name in common: loopback clients have no rates
	Race      map[int]bool             // nodes with the race detector
}

// Cluster is nodes and the log's servers.
type Cluster struct {
	*rig.Rig
	t     rig.T
	o     Options
	nodes []*Node
}

// Faulty is the program that can be broken (build tag engramd_faults).
var Faulty = relaytest.Build{Tags: relaytest.Tags + " engramd_faults"}

// Start starts the servers and the nodes, and waits until all are ready: the
// first has made the log, the others have joined it.
func Start(t rig.T, o Options) *Cluster {
	t.Helper()
	if o.Count == 0 {
		o.Count = 3
	}
	c := &Cluster{Rig: rig.Start(t, o.Server), t: t, o: o}
	for i := range o.Count {
		c.nodes = append(c.nodes, c.newNode(i))
	}
	for i, n := range c.nodes {
		if i == 0 {
			n.command("init")
		} else {
			n.command("join")
			n.copyKeys(c.nodes[0])
		}
		n.MustStart()
	}
	return c
}

// Node returns a node.
func (c *Cluster) Node(i int) *Node { return c.nodes[i] }

// Nodes is how many there are.
func (c *Cluster) Nodes() int { return len(c.nodes) }

// URL is where a node listens now: another port after each start.
func (c *Cluster) URL(i int) string { return c.nodes[i].URL() }

func (c *Cluster) newNode(i int) *Node {
	n := &Node{t: c.t, Index: i, Way: c.Client(), Data: c.o.Data[i]}
	dir := c.t.TempDir()
	if n.Data == "" {
		n.Data = filepath.Join(dir, "data")
	}
	n.config = filepath.Join(dir, "engramd.toml")
	n.build.Race = c.o.Race[i]
	fault, wrong := c.o.Faults[i], c.o.Clocks[i]
	clock := wrong.String()
	if path := c.o.ClockFile[i]; path != "" {
		clock = "@" + path
	}
	if fault != "" || clock != "0s" {
		n.build = Faulty
		n.env = []string{"ENGRAM_FAULT=" + fault, "ENGRAM_CLOCK=" + clock}
	}
	c.Configure(n)
	return n
}

// Configure writes a node's configuration, with all the servers that there are.
func (c *Cluster) Configure(n *Node) {
	c.t.Helper()
	if err := os.WriteFile(n.config, []byte(c.file(n)), 0o600); err != nil {
		c.t.Fatalf("%v", err)
	}
}

func (c *Cluster) file(n *Node) string {
	var text strings.Builder
	if !c.o.Alone {
		text.WriteString("public_url = [\"ws://" + Name + "\"]\n")
	}
	fmt.Fprintf(&text, "[admin]\nkeys = [%q]\n%s", ManagerKey().Pub, c.o.Config)
	text.WriteString(n.Way.Config() + "name = " + strconv.Quote(fmt.Sprintf("n%d", n.Index)) + "\n")
	if c.o.Reads != "" {
		text.WriteString("reads = " + strconv.Quote(c.o.Reads) + "\n")
	}
	return text.String()
}

// Dial connects to a node, and proves keys.
func (c *Cluster) Dial(i int, keys ...relaytest.Key) *relaytest.Client {
	c.t.Helper()
	cl, err := relaytest.Dial(c.URL(i))
	if err != nil {
		c.t.Fatalf("node %d: %v", i, err)
	}
	c.t.Cleanup(cl.Close)
	for _, k := range keys {
		if err := cl.Auth(k); err != nil {
			c.t.Fatalf("node %d: %v", i, err)
		}
	}
	return cl
}

// AwaitReady waits until a node answers that it is ready.
func (n *Node) AwaitReady(limit time.Duration) (err error) {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); <-time.After(poll) {
		if err = Ready(n.child(), limit); err == nil {
			return nil
		}
		if n.Halted() {
			return fmt.Errorf("node %d has halted: %w", n.Index, err)
		}
	}
	return fmt.Errorf("node %d is not ready within %v: %w", n.Index, limit, err)
}

// Ready returns nil if a process answers that it is ready.
func Ready(child *relaytest.Child, limit time.Duration) error {
	client := http.Client{Timeout: limit}
	response, err := client.Get(child.HTTP("/readyz"))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz is %d", response.StatusCode)
	}
	return nil
}

const poll = 20 * time.Millisecond

// Soak reports whether the long form of tests is asked for.
func Soak() bool { return os.Getenv("ENGRAMD_SOAK") != "" }
