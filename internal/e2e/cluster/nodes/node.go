package nodes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"engramd/internal/e2e/cluster/rig"
	"engramd/internal/e2e/relaytest"
)

// ReadyLimit is how long a node that starts may take.
const ReadyLimit = 3 * time.Minute

// Node is one engramd and its data folder. Its methods may be called by several
// goroutines, those that start or end it by one at a time.
type Node struct {
	Index int
	Data  string
	Way   *rig.Client // to the log's servers

	t      rig.T
	config string
	build  relaytest.Build
	env    []string

	mu  sync.Mutex
	now *relaytest.Child
}

func (n *Node) child() *relaytest.Child {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

// Child is the process that runs now, or ran last.
func (n *Node) Child() *relaytest.Child { return n.child() }

// URL is where it listens, ws://HOST:PORT.
func (n *Node) URL() string { return n.child().URL }

// Run runs engramd cluster VERB for this node.
func (n *Node) Run(verb string, args ...string) relaytest.Result {
	n.t.Helper()
	return relaytest.RunBinary(n.t, n.build, n.env, nil, append([]string{"cluster", verb, "--config", n.config, "--data", n.Data}, args...)...)
}

// RightClock has the next start go by the machine's clock.
func (n *Node) RightClock() { n.env = nil }

func (n *Node) command(verb string) {
	n.t.Helper()
	r := n.Run(verb)
	if r.Code != 0 {
		n.t.Fatalf("engramd cluster %s: %d %s%s", verb, r.Code, r.Stdout, r.Stderr)
	}
}

func (n *Node) copyFrom(other *Node, name string) {
	n.t.Helper()
	text, err := os.ReadFile(filepath.Join(other.Data, name))
	if err == nil {
		err = os.WriteFile(filepath.Join(n.Data, name), text, 0o600)
	}
	if err != nil {
		n.t.Fatalf("%v", err)
	}
}

// MustStart starts the node, and waits until it is ready.
func (n *Node) MustStart() {
	n.t.Helper()
	if err := n.Start(); err != nil {
		n.t.Fatalf("node %d: %v", n.Index, err)
	}
}

// Start is MustStart for whoever expects that it may fail.
func (n *Node) Start() error {
	child, err := relaytest.Launch(n.t, relaytest.Options{Build: n.build, Data: n.Data, Args: []string{"--cluster", "--config", n.config}, Env: n.env})
	if child == nil {
		return err
	}
	n.mu.Lock()
	n.now = child
	n.mu.Unlock()
	n.t.Cleanup(func() { n.show(child) })
	if err != nil {
		return err
	}
	return n.AwaitReady(ReadyLimit)
}

// show shows what a process logged if the test has failed.
func (n *Node) show(child *relaytest.Child) {
	if n.t.Failed() {
		text := child.Log.Text()
		n.t.Logf("node %d: …%s", n.Index, text[max(0, len(text)-shown):])
	}
}

const shown = 3000 // bytes of a log

// Kill ends the process with SIGKILL.
func (n *Node) Kill() { n.child().Kill() }

// Term has the process end (SIGTERM) and waits for it.
func (n *Node) Term() error {
	if code, took := n.child().Stop(); code != 0 {
		return fmt.Errorf("node %d ended with %d after %v", n.Index, code, took)
	}
	return nil
}

// Stop stops the process where it is (SIGSTOP); Cont lets it go on.
func (n *Node) Stop() { n.child().Signal(syscall.SIGSTOP) }

// Cont lets it go on.
func (n *Node) Cont() { n.child().Signal(syscall.SIGCONT) }

// Runs reports whether the process has not ended.
func (n *Node) Runs() bool {
	select {
	case <-n.child().Done():
		return false
	default:
		return true
	}
}

// Said reports whether the process has logged a text.
func (n *Node) Said(text string) bool { return strings.Contains(n.child().Log.Text(), text) }

// Rejoin throws away the folder of a node that does not run, joins with an empty
// one, as another member, and starts.
func (n *Node) Rejoin(from *Node) error {
	if err := os.RemoveAll(n.Data); err != nil {
		return err
	}
	n.command("join")
	n.copyKeys(from)
	return n.Start()
}

// copyKeys is what the operator does.
func (n *Node) copyKeys(from *Node) {
	n.t.Helper()
	for _, key := range []string{"relay.key", "master.key"} {
		n.copyFrom(from, key)
	}
}
