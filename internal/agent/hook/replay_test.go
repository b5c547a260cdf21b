package hook

import (
	"strings"
	"testing"
	"time"
)

// TestReplayIsInOrder: oldest first, and within one second the most active
// last, as if it were the newest.
func TestReplayIsInOrder(t *testing.T) {
	at := time.Unix(1_760_000_000, 0)
	for name, all := range map[string][]Episode{
		"one second":  {{Slug: "mem/b", Text: "mast", When: at, Weight: 0.5}, {Slug: "mem/a", Text: "key", When: at, Weight: 0.9}, {Slug: "mem/c", Text: "old", When: at.Add(-time.Hour), Weight: 1}},
		"two seconds": {{Slug: "mem/a", Text: "key", When: at.Add(time.Second), Weight: 0.9}, {Slug: "mem/c", Text: "old", When: at.Add(-time.Hour), Weight: 1}, {Slug: "mem/b", Text: "mast", When: at, Weight: 0.5}},
	} {
		section, whole := Replay(Units, all, Copy{}, 2000)
		old, mast, key := strings.Index(section.Text, "old\n"), strings.Index(section.Text, "mast\n"), strings.Index(section.Text, "key\n")
		if old < 0 || mast < old || key < mast || len(whole) != 3 {
			t.Errorf("%s: %s", name, section.Text)
		}
	}
}
