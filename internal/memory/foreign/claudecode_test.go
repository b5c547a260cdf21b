package foreign

import (
	"strings"
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
	// Folders that look alike are distinct, whatever a dash in their names stands for.
	files := fstest.MapFS{}
	for _, folder := range []string{"projects/-w-", "projects/-w--", "projects/-w---", "projects/-w", "projects/w", "projects/-W", "projects/-w é", "projects/-w-é", "projects/-agents",
		"projects/-w-deadbeef", "agent-memory/a b", "agent-memory/a-b", "agent-memory/a--b", "agent-memory/A-b"} {
		if name := folder + "/memory/facts.md"; strings.HasPrefix(folder, "projects") {
			files[name] = &fstest.MapFile{Data: []byte(folder)}
		} else {
			files[folder+"/facts.md"] = &fstest.MapFile{Data: []byte(folder)}
			files[folder+"/x y/facts.md"] = &fstest.MapFile{Data: []byte(folder + "x y")}
			files[folder+"/x-y/facts.md"] = &fstest.MapFile{Data: []byte(folder + "x-y")}
		}
	}
	all := s.Read(files, Options{Place: "/home/ana/.claude"})
	if len(all.Items) != len(files) || len(all.Left) != 0 {
		t.Errorf("%d of %d, left %v", len(all.Items), len(files), all.Left)
	}
	for _, i := range all.Items {
		if i.From == "projects/-w/memory/facts.md" && i.Slug != "mem/imported/claude-code/w/facts" || i.From == "agent-memory/a-b/x-y/facts.md" && i.Slug != "mem/imported/claude-code/agents/a-b/x-y/facts" {
			t.Errorf("%s is %s", i.From, i.Slug)
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
