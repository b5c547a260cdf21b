package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"engramd/nips/frontmatter"
)

// TestScriptedModel plays a model that uses other tools' names: its calls work.
func TestScriptedModel(t *testing.T) {
	m := newFake()
	p := connect(t, newServer(options{Memory: m}))
	ask[writeOut](p, "memory_write", args{"path": "/memories/projects/atlas.md", "file_text": "Atlas uses SQLite"})
	ask[writeOut](p, "memory_append", args{"topic": "memories/projects/atlas", "content": "and WAL"})
	if got := ask[readOut](p, "memory_read", args{"key": "/projects/atlas.md"}); got.Slug != "mem/projects/atlas" || got.Text != "Atlas uses SQLite\nand WAL" {
		t.Errorf("%+v", got)
	}
	ask[writeOut](p, "memory_edit", args{"file_path": "[[mem/projects/atlas]]", "old_string": "WAL", "new_string": "its log"})
	if got := ask[searchOut](p, "memory_search", args{"q": "log", "top_k": 3}); got.Total != 1 {
		t.Errorf("%+v", got)
	}
	ask[renameOut](p, "memory_rename", args{"old_path": "/memories/projects/atlas.md", "new_path": "/memories/atlas.md"})
	ask[renameOut](p, "memory_rename", args{"from": "atlas", "to": "map"})
	ask[renameOut](p, "memory_rename", args{"old_slug": "map", "new_slug": "atlas"})
	if got := ask[listOut](p, "memory_list", args{"prefix": "/memories/atl"}); len(got.Entries) != 1 || got.Entries[0].Slug != "mem/atlas" {
		t.Errorf("%+v", got)
	}
	// A text that is no slug is refused with one that is, which the model then
	// uses.
	f, _ := p.refused("memory_write", args{"path": "/memories/Projects/Atlas Notes.md", "text": "x"})
	if f.Code != CodeInvalid || !strings.Contains(f.Action, "Use mem/projects/atlas-notes,") {
		t.Errorf("%+v", f)
	}
	ask[writeOut](p, "memory_write", args{"path": "mem/projects/atlas-notes", "value": "x"})
	ask[deleteOut](p, "memory_delete", args{"path": "/memories/projects/atlas-notes.md"})

	// Two names of one argument must have the same value.
	ask[readOut](p, "memory_read", args{"slug": "atlas", "path": "atlas"})
	for _, wrong := range []args{{"slug": "atlas", "path": "other"}, {"path": "a", "topic": "b"}, {"slug": "atlas", "path": 7}} {
		if f, words := p.refused("memory_read", wrong); f.Code != CodeInvalid || !strings.Contains(words, "differ") {
			t.Errorf("%v: %s", wrong, words)
		}
	}
	ask[readOut](p, "memory_read", args{"slug": "atlas", "path": nil, "version": nil, "max_bytes": nil})
	if f, _ := p.refused("memory_read", args{"slug": nil}); f.Code != CodeInvalid {
		t.Errorf("%+v", f)
	}
	if f, _ := p.refused("memory_read", args{"slugg": "atlas"}); f.Code != CodeInvalid {
		t.Errorf("%+v", f)
	}
	// The tool's own arguments keep their meaning.
	ask[writeOut](p, "memory_write", args{"slug": "core", "text": "I am Sami"})
	if got := ask[writeOut](p, "memory_link", args{"from": "atlas", "destination": "core", "relation": "supports", "remove": false}); got.Outcome == "" {
		t.Errorf("%+v", got)
	}
}

// No schema shows an alias of an argument, and no alias is the name of another
// argument of its tool.
func TestAliasesAreHidden(t *testing.T) {
	s := newServer(options{Memory: newFake(), Contracts: &fakeContracts{}})
	for tool, in := range s.inputs {
		seen := map[string]string{}
		for _, name := range argumentNames(in) {
			for _, alias := range aliases[name] {
				if other, twice := seen[alias]; twice {
					t.Errorf("%s: %s stands for %s and %s", tool, alias, name, other)
				}
				seen[alias] = name
			}
		}
	}
	if len(s.inputs) < 15 || len(argumentNames(s.inputs["memory_write"])) != 13 {
		t.Errorf("%v", s.inputs)
	}
}

func FuzzRenamed(f *testing.F) {
	for _, text := range []string{`{"path":"a"}`, `{"path":1,"slug":1.0}`, `[]`, `null`, ``, `{"path":`, `{"slug":"a","slug":"b"}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := renamed([]string{"slug", "text"}, json.RawMessage(text))
		if err == nil && string(got) != text && !json.Valid(got) {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// A single text is accepted as a list of one.
func TestListsOfOne(t *testing.T) {
	m := newFake()
	p := unitServer(t, m, nil)
	ask[writeOut](p, "memory_write", args{"slug": "old", "text": "The old facts about Atlas."})
	ask[writeOut](p, "memory_write", args{"slug": "a", "text": "Atlas uses SQLite.", "tags": "storage", "supersedes": "mem/old"})
	if f := frontmatter.Parse(m.texts["mem/a"]).Fields(); !slices.Equal(f.Tags, []string{"storage"}) || len(f.Relations) != 1 || f.Relations[0].Target != "mem/old" {
		t.Errorf("%q", m.texts["mem/a"])
	}
	if got := ask[recallOut](p, "memory_recall", args{"query": "Atlas SQLite", "tags": "storage", "types": "semantic", "states": "active"}); len(got.Hits) != 1 {
		t.Errorf("%+v", got)
	}
	if f, _ := p.refused("memory_write", args{"slug": "b", "text": "x", "tags": 7}); f.Code != CodeInvalid {
		t.Errorf("%+v", f)
	}
}

// Arguments that no alias explains are named up to a bound, and counted.
func TestUnmendedIsBounded(t *testing.T) {
	m := newFake()
	m.texts["mem/a"] = "text"
	for i := range 250 {
		m.texts[slugf("mem/sys/%03d", i)] = "[[mem/a]]"
	}
	out := ask[renameOut](unitServer(t, m, nil), "memory_rename", args{"slug": "a", "to": "b", "mend_links": true})
	if len(out.Unmended) != 100 || out.More != 150 || len(out.Warnings) > maxWarnings {
		t.Errorf("%d named, %d more, %d warnings", len(out.Unmended), out.More, len(out.Warnings))
	}
}
