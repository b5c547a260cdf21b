package rig

import (
	"fmt"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// The tests named TestKhatruFault are one for each fault of khatru 0.19.1 that
// can reach us from the network (docs/khatru.md has the table). This file: one
// unauthenticated message that ends the process.

// WantAlive wants that the daemon still serves on a new connection, as the same
// process.
func WantAlive(t *testing.T, relay *relaytest.Child) {
	t.Helper()
	select {
	case <-relay.Done():
		t.Fatalf("the daemon is gone:\n%s", relay.Log.Text())
	default:
	}
	c := Dial(t, relay)
	if ok := c.MustPublish(relaytest.Note(relaytest.NewKey(801), Now(), fmt.Sprint("alive ", t.Name()))); !ok.True {
		t.Errorf("alive, but OK false %q", ok.Message)
	}
	c.Close()
}
