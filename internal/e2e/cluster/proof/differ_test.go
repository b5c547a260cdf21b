package proof

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/relaytest"
)

// TestWhoDiffersStops: a node that skips a command is found by engramd cluster verify,
// and by the hashes that nodes report, and stops; the others go on, although one
// member is gone: the old identity of a node that joined again.
func TestWhoDiffersStops(t *testing.T) {
	t.Parallel()
	c := nodes.Start(t, nodes.Options{Alone: true, Faults: map[int]string{2: "skip"}})
	c.Node(1).Kill()
	if err := c.Node(1).Rejoin(c.Node(0)); err != nil {
		t.Fatal(err)
	}
	if said, code := verified(t, c, 80); code != 1 || !strings.Contains(said, "BROKEN: nodes 0 and 2 differ") {
		t.Errorf("engramd cluster verify finds nothing: %d", code)
	}
	k, at := relaytest.NewKey(1717), c.Dial(0)
	const enough = 1100 // nodes report each 1,000 commands
	for n := 0; !c.Node(2).Halted(); n++ {
		if n > enough { // until the member that is gone is known to report nothing
			select {
			case <-c.Node(2).Child().Done():
				t.Fatal("node 2 has ended")
			case <-time.After(50 * time.Millisecond):
			}
		}
		if n > 10*enough {
			t.Fatal("node 2 goes on, although it has executed something else")
		}
		mustStore(t, at, note(k, fmt.Sprint("note ", n)))
	}
	for n := range 20 {
		mustStore(t, at, note(k, fmt.Sprint("further note ", n)))
	}
	if err := c.Node(1).AwaitReady(wait); err != nil {
		t.Fatal(err)
	}
	if !c.Node(2).Said("the majority of members has executed something else") {
		t.Error("node 2 does not say why it stopped")
	}
}
