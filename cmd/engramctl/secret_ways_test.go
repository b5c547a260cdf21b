package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/secretcases"
	"engramd/internal/secrets"
)

// TestEveryWayOfWritingIsGuarded walks all ways in which a text gets into memory with some
// that hold a secret and some that only look so.
func TestEveryWayOfWritingIsGuarded(t *testing.T) {
	p := newCorrecting(t)
	c := startMCPIn(t, relaytest.Agent(), p.env, "--owner", relaytest.Owner().Pub, "--relay", p.relay.URL, "--tools", "memory,mind,files")
	folder := filepath.Join(p.dir, "own")
	p.does("", "export", folder, "--yes")
	ways := guardedWays(t, p, c, folder)
	for i, one := range chosen(t) {
		for _, way := range ways {
			name := way.name
			said, taken := way.write(fmt.Sprintf("c%d", i), one.Text)
			if taken != (one.Kind == "") || !taken && !strings.Contains(said, one.Kind) {
				t.Errorf("%s by %s: taken %t: %s", one.Name, name, taken, said)
			}
			if !taken && strings.Contains(said, one.Text) {
				t.Errorf("%s by %s is said again: %s", one.Name, name, said)
			}
		}
	}
	_ = c.session.Close()
	c.ended()
	found := 0
	for _, e := range p.every() {
		if text, _ := e.Body.Text(); secrets.Check(text) != nil {
			t.Errorf("%s: %v", e.Body.Slug(), secrets.Check(text))
		}
		found++
	}
	if found < 3*len(ways) {
		t.Errorf("%d texts were written in %d ways", found, len(ways))
	}
}

// chosen are a few of the table: every way is slow.
func chosen(t *testing.T) (some []secretcases.Case) {
	names := []string{"a key with dots", "hex with spaces", "twelve words", "a log", "counters", "stands for a password: dein", "words in tags", "flags"}
	for _, c := range secretcases.All(t) {
		for _, name := range names {
			if c.Name == name {
				some = append(some, c)
			}
		}
	}
	if len(some) != len(names) {
		t.Fatalf("%d of %q are in the table", len(some), names)
	}
	return some
}

// guardedWay writes a text, the slug of which ends in a name, and returns what was said and
// whether it was taken.
type guardedWay struct {
	name  string
	write func(name, text string) (said string, taken bool)
}

func guardedWays(t *testing.T, p *correcting, c *mcpChild, folder string) []guardedWay {
	tool := func(tool string, args map[string]any) (string, bool) {
		res, err := c.session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		return res.Content[0].(*sdk.TextContent).Text, !res.IsError
	}
	ctl := func(stdin string, args ...string) (string, bool) {
		got := p.run(strings.NewReader(stdin), args...)
		return got.stdout + got.stderr, got.code == 0
	}
	imported := func(source, file string, of func(text string) string) func(name, text string) (string, bool) {
		return func(name, text string) (string, bool) {
			p.write("from/"+name+"/"+file, of(text))
			return ctl("", "import", "--from", source, filepath.Join(p.dir, "from", name, file), "--prefix", "from/"+source+"/"+name, "--trust", "observed", "--yes")
		}
	}
	return []guardedWay{
		{"memory_write", func(name, text string) (string, bool) {
			return tool("memory_write", map[string]any{"slug": "w/" + name, "text": text})
		}},
		{"memory_write's description", func(name, text string) (string, bool) {
			return tool("memory_write", map[string]any{"slug": "d/" + name, "text": "A text.", "description": strings.ReplaceAll(text, "\n", ", ")})
		}},
		{"memory_append", func(name, text string) (string, bool) {
			p.does("", "mem", "set", "a/"+name, "One line.")
			return tool("memory_append", map[string]any{"slug": "a/" + name, "text": text})
		}},
		{"memory_edit", func(name, text string) (string, bool) {
			p.does("", "mem", "set", "e/"+name, "One line here.")
			return tool("memory_edit", map[string]any{"slug": "e/" + name, "old_str": "here", "new_str": text})
		}},
		{"memory_note", func(_, text string) (string, bool) { return tool("memory_note", map[string]any{"text": text}) }},
		{"memory_intend", func(_, text string) (string, bool) { return tool("memory_intend", map[string]any{"text": text}) }},
		{"mind_commit", func(name, text string) (string, bool) {
			slug := reply(t, c.call("memory_note", map[string]any{"text": "It was seen once more: " + name}, false))["slug"].(string)
			plan := reply(t, c.call("mind_prepare", nil, false))["plan"].(string)
			ops, err := json.Marshal([]map[string]any{{"op": "write", "slug": "mem/made/" + name, "text": text, "derived_from": []string{slug}}})
			if err != nil {
				t.Fatal(err)
			}
			return tool("mind_commit", map[string]any{"plan": plan, "operations": string(ops)})
		}},
		{"the memory tool's create", func(name, text string) (string, bool) {
			return tool("memory", map[string]any{"command": "create", "path": "/memories/f/" + name + ".md", "file_text": text})
		}},
		{"the memory tool's insert", func(name, text string) (string, bool) {
			p.does("", "mem", "set", "i/"+name, "One line.\n")
			return tool("memory", map[string]any{"command": "insert", "path": "/memories/i/" + name + ".md", "insert_line": 1, "insert_text": text})
		}},
		{"the memory tool's str_replace", func(name, text string) (string, bool) {
			p.does("", "mem", "set", "s/"+name, "One line here.\n")
			return tool("memory", map[string]any{"command": "str_replace", "path": "/memories/s/" + name + ".md", "old_str": "here", "new_str": text})
		}},
		{"mem set", func(name, text string) (string, bool) { return ctl(text, "mem", "set", "c/"+name, "-") }},
		{"note", func(_, text string) (string, bool) { return ctl(text, "note", "-") }},
		{"a proposal", func(name, text string) (string, bool) {
			said := p.owns(text, "propose", "set", "p/"+name, "-", "--allow-secret", "--json")
			return ctl("", "proposals", "accept", reply(t, said)["id"].(string))
		}},
		{"a folder", func(name, text string) (string, bool) {
			p.write("own/mem/folder/"+name+".md", text)
			said, taken := ctl("", "import", folder, "--yes")
			if err := os.Remove(filepath.Join(folder, "mem/folder", name+".md")); err != nil {
				t.Fatal(err)
			}
			return said, taken
		}},
		{"an import of notes", imported("obsidian", "a.md", func(text string) string { return text })},
		{"an import of a graph", imported("mcp-memory", "memory.jsonl", func(text string) string {
			raw, _ := json.Marshal(map[string]any{"type": "entity", "name": "x", "entityType": "y", "observations": []string{text}})
			return string(raw)
		})},
	}
}
