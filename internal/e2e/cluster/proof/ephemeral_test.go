package proof

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/relaytest"
)

// kindConnect is the kind that a remote signer and its clients exchange
// (NIP-46).
const kindConnect = 24133

// TestEphemerals: an ephemeral event from any node reaches its recipients at
// the others once, and nobody else.
func TestEphemerals(t *testing.T) {
	t.Parallel()
	c := nodes.Start(t, nodes.Options{})
	signer, asks := relaytest.NewKey(46), relaytest.NewKey(47)
	var at, other [3]*gateReader
	for i := range c.Nodes() {
		at[i], other[i] = connects(t, c, i, signer, signer.Pub), connects(t, c, i, relaytest.Stranger(), relaytest.Stranger().Pub)
	}
	for from := range c.Nodes() {
		writer := c.Dial(from)
		var last *event
		// Servers learn of each other's subscriptions with a short delay.
		c.Until(fmt.Sprintf("what is sent at node %d comes to all", from), wait, func() error {
			last = relaytest.Sign(asks, kindConnect, time.Now().Unix(), fmt.Sprint(time.Now().UnixNano()), nostr.Tag{"p", signer.Pub})
			if ok, err := writer.Publish(last); err != nil || !ok.True {
				return fmt.Errorf("OK %v %q %v", ok.True, ok.Message, err)
			}
			for i, r := range at {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				_, err := r.WaitContext(ctx, brings(last))
				cancel()
				if err != nil {
					return fmt.Errorf("node %d: %w", i, err)
				}
			}
			return nil
		})
		for i := range at {
			if slices.ContainsFunc(at[i].Waiting(), brings(last)) {
				t.Errorf("what was sent at node %d came twice to node %d", from, i)
			}
			if slices.ContainsFunc(other[i].Waiting(), relaytest.Labelled("EVENT")) {
				t.Errorf("a stranger at node %d was shown what was sent at node %d", i, from)
			}
		}
	}
}

func brings(ev *event) relaytest.Match {
	return func(f relaytest.Frame) bool { got := f.Event(); return got != nil && got.ID == ev.ID }
}

// connects subscribes to the events for a key.
func connects(t *testing.T, c *nodes.Cluster, node int, k relaytest.Key, to string) *gateReader {
	t.Helper()
	r := &gateReader{t: t, c: c, node: node, Client: c.Dial(node), keys: []relaytest.Key{k}}
	if err := r.AuthWithName(k); err != nil {
		t.Fatal(err)
	}
	if a, err := r.Subscribe("connect", relaytest.Filter{"kinds": []int{kindConnect}, "#p": []string{to}}); err != nil || !a.EOSE {
		t.Fatal(a.Closed, err)
	}
	return r
}
