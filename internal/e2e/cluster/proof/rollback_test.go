package proof

import (
	"fmt"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/relaytest"
)

// TestLogRolledBack: the servers come back from an older copy while nodes run, of
// which one had read no more than the copy has, or none. No node goes on as if
// nothing were, and each says why it stopped.
func TestLogRolledBack(t *testing.T) {
	for name, behind := range map[string]bool{"all ahead": false, "one behind": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := nodes.Start(t, nodes.Options{Alone: true})
			k := relaytest.NewKey(1909)
			write := func(what string, n int) {
				at := c.Dial(0)
				for i := range n {
					mustStore(t, at, note(k, fmt.Sprint(what, i)))
				}
			}
			write("kept ", 10)
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
			write("lost ", 200)
			if err := c.Node(1).AwaitReady(wait); err != nil {
				t.Fatal(err)
			}
			c.Off()
			back()
			c.On()
			if behind {
				c.Node(2).Cont()
			}
			began := time.Now()
			for i := range c.Nodes() {
				n := c.Node(i)
				c.Until(fmt.Sprintf("node %d stops", i), wait, func() error {
					if n.Runs() {
						return fmt.Errorf("it goes on")
					}
					return nil
				})
				if !n.Said("the log has lost what it had acknowledged") && !n.Said("the majority of members has read another log") {
					t.Errorf("node %d does not say why it stopped", i)
				}
			}
			t.Logf("all have stopped after %v", time.Since(began).Round(10*time.Millisecond))
		})
	}
}
