package rig

import (
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
