package foreign

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// Each parser is fed any bytes, as a file of each name that it reads.

func FuzzClaudeCode(f *testing.F) {
	fuzzSource(f, "claude-code", "projects/p/memory/MEMORY.md", "projects/p/memory/a.md")
}
func FuzzAgentsMD(f *testing.F)  { fuzzSource(f, "agents-md", "AGENTS.md", "CLAUDE.md") }
func FuzzMCPMemory(f *testing.F) { fuzzSource(f, "mcp-memory", "memory.jsonl") }
func FuzzObsidian(f *testing.F)  { fuzzSource(f, "obsidian", "a.md", "2026-01-02.md") }
func FuzzCodex(f *testing.F) {
	fuzzSource(f, "codex", "MEMORY.md", "memory_summary.md", "rollout_summaries/2026-01-02T03-04-05-a.md", "skills/a/SKILL.md")
}
func FuzzOpenClaw(f *testing.F) { fuzzSource(f, "openclaw", "MEMORY.md", "memory/2026-01-02.md") }
func FuzzHermes(f *testing.F)   { fuzzSource(f, "hermes", "memories/MEMORY.md", "memories/USER.md") }
func FuzzLetta(f *testing.F)    { fuzzSource(f, "letta", "a.af", "system/a.md") }
func FuzzFolder(f *testing.F)   { fuzzSource(f, "folder", "a.md", "mem/b.md") }
func FuzzMem0(f *testing.F)     { fuzzSource(f, "mem0", "a.json", "a.jsonl") }

func FuzzExport(f *testing.F) {
	f.Add([]byte(strangersExport))
	f.Add([]byte(`{"slug":"mem//../core","owner":"o","text":"a"}` + "\n" + `{"slug":"mem/\u0000","owner":"o","text":"[[mem/a]]","removed":false}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, _ := ByName("folder")
		check(t, s, s.Read(fstest.MapFS{"a.jsonl": &fstest.MapFile{Data: text}}, Options{File: "a.jsonl", Owner: "o"}))
	})
}

// fuzzSource wants of all that is read what check does, and that the same bytes
// read again are not written again.
func fuzzSource(f *testing.F, source string, names ...string) {
	_ = filepath.WalkDir(filepath.Join("testdata", source), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if text, err := os.ReadFile(p); err == nil {
				f.Add(text)
			}
		}
		return nil
	})
	f.Add([]byte("---\ntrust: told\npin: true\n---\n[[a|b]] ![[x#y]] [z](a.md#q) @a/b.md #tag\n```\n[[a]]\n"))
	f.Add([]byte(strings.Repeat("# a\n\n"+strings.Repeat("\"b\" ", 40)+"\n", 500)))
	f.Fuzz(func(t *testing.T, text []byte) {
		fsys := fstest.MapFS{}
		for _, name := range names {
			fsys[name] = &fstest.MapFile{Data: text}
		}
		got := read(t, source, fsys)
		var there []Held
		for _, step := range Plan(got.Items, nil, testStamp) {
			if step.What == New {
				there = append(there, Held{Slug: step.Slug, Text: step.Text})
			}
		}
		for _, step := range Plan(got.Items, there, testStamp) {
			if step.What != Same && step.What != Copy && step.What != Refused {
				t.Errorf("again, %s is %s", step.Slug, step.What)
			}
		}
	})
}
