package client

import (
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/clienttest"
)

// While the list of relays is looked up, the known relays are asked.
func TestDiscoverKeepsWhatIsKnown(t *testing.T) {
	far := clienttest.StartHoard(t, &clienttest.Hoard{})
	var c *Client
	during := make(chan []string, 2)
	directory := clienttest.StartHoard(t, &clienttest.Hoard{Hints: true, Events: []*nostr.Event{clienttest.RelayList(t, time.Now().Unix(), nostr.Tag{"r", far})},
		Asking: func(int) { during <- c.Relays() }})
	c = clientFor(t, who(t, "owner"), []string{directory}, nil)
	for range 2 {
		if err := c.Discover(t.Context(), who(t, "agent").PubKey()); err != nil {
			t.Fatal(err)
		}
	}
	<-during
	if known := <-during; !slices.Equal(known, []string{directory, far}) {
		t.Errorf("asked while looking: %v", known)
	}
}
