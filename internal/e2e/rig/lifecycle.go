package rig

import (
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
)

// Await polls a condition that nothing announces.
func Await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(relaytest.Patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s did not come within %v", what, relaytest.Patience)
		}
	}
}

// AwaitLog waits until the relay's log has all of these: what it has written comes
// through a pipe, maybe later than an answer.
func AwaitLog(t *testing.T, relay *relaytest.Child, parts ...string) {
	t.Helper()
	for _, part := range parts {
		Await(t, "the log of "+part, func() bool { return strings.Contains(relay.Log.Text(), part) })
	}
}
