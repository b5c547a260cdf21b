//go:build nightly

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/memory/quote"
	memorystate "engramd/internal/memory/state"
)

// TestHookBesideOthers: while another process holds the state locked, session-start still
// prints the core, and a prompt is told what bears on it, and waits no longer than it may
// to note that.
func TestHookBesideOthers(t *testing.T) {
	url := relaytest.Start(t, relaytest.Options{}).URL
	r := newHookRig(t, url)
	r.plant(url, planted)
	said := fmt.Sprintf(`{"session_id":"s","cwd":%q,"prompt":"When does Ana paint the boats?"}`, r.folder)
	r.run(nil, "project", "link")
	r.hook("claude", "session-start", said)
	held, free, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	r.state(func(s *memorystate.State) {
		go func() { // the function runs within a write transaction
			ended <- s.Sessions.Wrote(t.Context(), "s", func(string) string { close(held); <-free; return "" })
		}()
		<-held
		for r.slack = 0; ; r.slack = 3*r.slack + time.Second { // the relay may have had too little time
			got := r.hook("generic", "session-start", said)
			if strings.HasPrefix(got, "[Agent Memory — core]\n"+quote.Notice+"| I am Sami.") && strings.Contains(got, "Atlas is a log of the sea.") {
				break
			}
			if r.slack > slack {
				t.Errorf("beside a writer a session begins with\n%s", got)
				break
			}
		}
		r.patience, r.slack = 2*time.Second, 0
		best := time.Hour
		for try := 0; try < 5 && best > 5*time.Second; try++ { // SQLite would wait for 10
			began := time.Now()
			if got := r.hook("claude", "prompt", said); strings.Contains(got, "in spring") {
				best = min(best, time.Since(began))
			}
		}
		if best > 5*time.Second {
			t.Errorf("beside a writer a prompt is answered and waits for %v", best)
		}
		close(free)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
	r.patience, r.slack = time.Minute, slack
	if got := r.hook("claude", "prompt", said); !strings.Contains(got, "in spring") {
		t.Errorf("then it is told %q", got)
	}
}
