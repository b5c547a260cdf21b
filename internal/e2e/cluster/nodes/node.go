package nodes

import (
	"context"
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

// Restart starts a node that will not become ready, and waits until it says a text.
func (n *Node) Restart(says string) error {
	child, err := relaytest.Begin(n.t, relaytest.Options{Build: n.build, Data: n.Data, Args: []string{"--cluster", "--config", n.config}, Env: n.env})
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.now = child
	n.mu.Unlock()
	n.t.Cleanup(func() { n.show(child) })
	ctx, cancel := context.WithTimeout(context.Background(), ReadyLimit)
	defer cancel()
	_, err = child.Log.Wait(ctx, func(line string) bool { return strings.Contains(line, says) })
	return err
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

// halted is what a node says that stays up and serves nothing.
const halted = "this node has halted"

// Halted reports whether the process has halted since it was ready last, and has not
// ended.
func (n *Node) Halted() bool { return n.Runs() && Halted(n.child()) }

// Halted reports whether a process has halted since it was ready last.
func Halted(child *relaytest.Child) bool {
	text := child.Log.Text()
	return strings.LastIndex(text, halted) > strings.LastIndex(text, "url=ws://")
}

// Halts is how often the process has said that it halted.
func (n *Node) Halts() int { return strings.Count(n.child().Log.Text(), halted) }

// Command runs a command of engramd with the node's folder and configuration.
func (n *Node) Command(stdin string, args ...string) relaytest.Result {
	n.t.Helper()
	return relaytest.RunBinary(n.t, n.build, n.env, []byte(stdin), append(args, "--config", n.config, "--data", n.Data)...)
}

// KillRecovery has a recovery begun and killed at a step.
func (n *Node) KillRecovery(step string) error {
	n.t.Helper()
	r := relaytest.RunBinary(n.t, Faulty, []string{"ENGRAM_FAULT=recover-" + step}, nil, "cluster", "recover", "--yes", "--config", n.config, "--data", n.Data)
	if r.Code >= 0 {
		return fmt.Errorf("a recovery of node %d was not killed at %q: %d, %s%s", n.Index, step, r.Code, r.Stdout, r.Stderr)
	}
	return nil
}

// Recover has a halted node recovered, and waits until the process is ready, at
// another port.
func (n *Node) Recover() (said string, err error) {
	n.t.Helper()
	r := n.Command("", "cluster", "recover", "--yes")
	said = string(r.Stdout) + r.Stderr
	if r.Code != 0 {
		return said, fmt.Errorf("node %d is not recovered: %d, %s", n.Index, r.Code, said)
	}
	if !n.Runs() {
		return said, nil
	}
	for deadline := time.Now().Add(ReadyLimit); n.Halted() && time.Now().Before(deadline); {
		<-time.After(poll)
	}
	Moved(n.child())
	return said, n.AwaitReady(ReadyLimit)
}

// Moved notes where a process listens that has halted, and serves again.
func Moved(child *relaytest.Child) {
	text := child.Log.Text()
	_, text, _ = strings.Cut(text[strings.LastIndex(text, halted):], "url=")
	child.URL, _, _ = strings.Cut(text, " ")
}

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
