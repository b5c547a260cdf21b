//go:build nightly && unix

package sessions

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
)

// TestPromptsBesideBusyLoops: beside two busy programs for each processor every prompt is
// told what bears on it, and nearly all of them within 1.2 s.
func TestPromptsBesideBusyLoops(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{})
	plant(t, relay.URL, map[string]string{"mem/boats": "Ana paints the boats in spring, before the regatta."})
	m := newMachine(t, relay.URL)
	m.hook("session-start", "start", nil)
	m.ctlOK("mem", "stats", "--wait", "2m")
	for range 2 * runtime.NumCPU() {
		loop := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = loop.Process.Kill(); _ = loop.Wait() }()
	}
	const prompts = 20
	best := time.Hour
	for attempt := 0; attempt < 3 && best > 1200*time.Millisecond; attempt++ { // other programs run beside a test
		told := 0
		var took []time.Duration
		for n := range prompts {
			began := time.Now()
			if strings.Contains(m.hook("prompt", fmt.Sprint("s", attempt, n), map[string]any{"prompt": "When does Ana paint the boats?"}), "in spring") {
				told++
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		p95 := took[prompts*95/100-1]
		t.Logf("%d of %d told, median %v, 95 of 100 within %v", told, prompts, took[prompts/2], p95)
		if told == prompts {
			best = min(best, p95)
		}
	}
	if best > 1200*time.Millisecond {
		t.Errorf("all are told, 95 of 100 within %v", best)
	}
}
