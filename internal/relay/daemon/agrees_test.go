package daemon

import (
	"errors"
	"strings"
	"testing"

	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
)

// TestAgrees: a node whose shared options differ from the cluster's is told
// which, and how to go on; options of the node's own may differ.
func TestAgrees(t *testing.T) {
	cfg := config.Default()
	text := config.SharedText(cfg)
	cfg.Timeouts.Shutdown = 9
	if err := agrees(cfg, text); err != nil {
		t.Errorf("an option of its own: %v", err)
	}
	cfg.History.Days, cfg.Gate.IDs = 1, "party"
	err := agrees(cfg, text)
	if usage := new(wiring.UsageError); !errors.As(err, usage) || !strings.Contains(err.Error(), "gate.ids, history.days;") {
		t.Errorf("%v", err)
	}
}

// The shared options of a proposal are checked before any node is told, and the
// error names what cannot change while nodes run.
func TestSettledOptions(t *testing.T) {
	now := config.Default()
	next, err := config.WithShared(now, `gate.rules = ["1234 author"]`+"\n"+`history.days = 3`+"\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(fixedIn(next, config.SharedText(now)), ","); got != "gate.rules" {
		t.Errorf("%s", got)
	}
}
