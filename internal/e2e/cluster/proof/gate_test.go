package proof

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/relaytest"
)

type event = nostr.Event

// TestWorks: what is written at one node is read at each.
func TestWorks(t *testing.T) {
	c := nodes.Start(t, nodes.Options{})
	k := relaytest.NewKey(77)
	for i := range c.Nodes() {
		a := c.Dial(i)
		ev := note(k, "hello")
		ev = relaytest.Note(k, int64(ev.CreatedAt)-int64(i), "hello")
		mustStore(t, a, ev)
		for j := range c.Nodes() {
			got, err := c.Dial(j).Query(relaytest.Filter{"ids": []string{ev.ID}})
			if err != nil || len(got.Events) != 1 {
				t.Errorf("%d → %d: %+v %v", i, j, got, err)
			}
		}
	}
	wantSame(t, c)
}
