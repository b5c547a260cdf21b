package migrate

import (
	"testing"
	"testing/fstest"
)

// TestClaudeCodeFromAnywhere: the same file has the same slug and path whichever
// folder above it is read, and one file alone too.
func TestClaudeCodeFromAnywhere(t *testing.T) {
	s, _ := ByName("claude-code")
	for _, c := range []struct{ place, name, only string }{
		{"home/ana", ".claude/projects/-p/memory/a.md", ""},
		{"home/ana/.claude", "projects/-p/memory/a.md", ""},
		{"home/ana/.claude/projects", "-p/memory/a.md", ""},
		{"home/ana/.claude/projects/-p", "memory/a.md", ""},
		{"home/ana/.claude/projects/-p/memory", "a.md", ""},
		{"home/ana/.claude/projects/-p/memory", "a.md", "a.md"},
	} {
		got := s.Read(fstest.MapFS{c.name: {Data: []byte("words")}}, Options{Place: "/" + c.place, File: c.only})
		if len(got.Items) != 1 || got.Items[0].Slug != "mem/imported/claude-code/p/a" || got.Items[0].From != "projects/-p/memory/a.md" {
			t.Errorf("from %s: %+v", c.place, got)
		}
	}
	// A folder of one's own, by its index.
	got := s.Read(fstest.MapFS{"MEMORY.md": {Data: []byte("- [A](a.md) — hook\n")}, "a.md": {Data: []byte("words")}}, Options{Place: "/notes"})
	if len(got.Items) != 1 || got.Items[0].Slug != "mem/imported/claude-code/a" {
		t.Errorf("a folder of one's own: %+v", got)
	}
	// And nothing of a folder that is something else.
	if got := s.Read(fstest.MapFS{"a.md": {Data: []byte("words")}}, Options{Place: "/notes"}); len(got.Items) != 0 || len(got.Left) != 1 {
		t.Errorf("something else: %+v", got)
	}
}
