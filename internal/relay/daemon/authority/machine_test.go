package authority

import (
	"os"
	"strings"
	"testing"
)

// Servers of one's own are documented with the rights that init gives.
func TestRightsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(natsConf) {
		line = strings.TrimSpace(strings.ReplaceAll(line, "@STREAM@", "ENGRAMD_LOG"))
		if !strings.Contains(line, `["`) && !strings.HasPrefix(line, `"$JS`) {
			continue
		}
		n++
		if !strings.Contains(string(text), line) {
			t.Errorf("docs/cluster.md lacks %s", line)
		}
	}
	if n != 6 {
		t.Errorf("%d lines with rights", n)
	}
}
