//go:build harness

package harnesses

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"engramd/internal/agent/hook"
	"engramd/internal/e2e/notrun"
)

// TestClaudeIsAsked: Claude Code hands what a stop and a compaction ask for to its model,
// and shows no error for it; what was told is known afterwards.
func TestClaudeIsAsked(t *testing.T) {
	p := claude()
	argv := p.argv(filepath.Join(os.Getenv("HARNESS_CACHE"), p.name))
	if _, err := os.Stat(argv[0]); err != nil {
		notrun.Skip(t, p.title+" is not installed: make harness-deps")
	}
	h := newHome(t, p)
	h.run(h.dir, "engramctl", "setup", p.name, "--yes", "--allow", "--new-owner", "--password-file", h.path("password"), "--relay", h.relay.URL)
	id := ""
	say := func(prompt string) (out, said string) {
		t.Helper()
		args := append(argv[1:len(argv):len(argv)], "--verbose", "--output-format", "stream-json")
		if id != "" {
			args = append(args, "--resume", id)
		}
		out, err := h.try(prompt, h.path("atlas"), argv[0], args...)
		if err != nil {
			t.Fatalf("%s: %v\n%s", prompt, err, out)
		}
		if m := regexp.MustCompile(`"session_id":"([^"]+)"`).FindStringSubmatch(out); m != nil {
			id = m[1]
		}
		all, _ := h.model.take()
		for _, r := range all {
			said += "\n" + r.body
		}
		return out, said
	}
	const asks = "This session has remembered nothing so far."
	for n := 1; n <= hook.MinPrompts; n++ {
		out, said := say("go on, please")
		if strings.Contains(said, asks) != (n == hook.MinPrompts) {
			t.Errorf("at stop %d of session %s: asked: %v", n, id, strings.Contains(said, asks))
		}
		if strings.Contains(strings.ToLower(out), "hook error") || strings.Contains(out, "hook blocked") {
			t.Errorf("at stop %d it shows\n%s", n, out)
		}
	}
	out, said := say("/compact")
	if !strings.Contains(said, "let the summary keep, in full") {
		t.Errorf("the summary is asked for\n%s\nand it shows\n%s", said, out)
	}
	if got := h.run(h.path("atlas"), "engramctl", "why"); !strings.Contains(got, "session "+id+" of claude\nstart ") || !strings.Contains(got, "\nprompt 8 ") {
		t.Errorf("why says\n%s", got)
	}
}
