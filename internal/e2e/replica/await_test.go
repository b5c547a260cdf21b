package replica

import (
	"encoding/json"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// patience is how long relays may take to agree, however busy the machine is.
const patience = 3 * time.Minute

// await repeats a check until it finds nothing wrong.
func await(t *testing.T, what string, wrong func() string) {
	t.Helper()
	var last string
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if last = wrong(); last == "" {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	t.Fatalf("%s: still %s", what, last)
}

// awaitHistory waits until a question for history has a number of answers.
func awaitHistory(t *testing.T, c *rig.Caller, as relaytest.Key, path string, want int) {
	t.Helper()
	await(t, path, func() string {
		resp, err := c.Signed(&as, "GET", path, nil)
		var events []struct{ ID string }
		if err != nil || resp.Status != 200 || json.Unmarshal(resp.Body, &events) != nil || len(events) != want {
			return string(resp.Body)
		}
		return ""
	})
}
