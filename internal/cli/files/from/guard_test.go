package from

import (
	"encoding/json"
	"testing"
	"testing/fstest"
	"time"

	"engramd/internal/e2e/secretcases"
	"engramd/internal/memory/foreign"
	"engramd/nips/frontmatter"
)

// TestImportsAreGuarded holds what is imported to the table that everything is held to, in
// whichever form a source brings it.
func TestImportsAreGuarded(t *testing.T) {
	stamp := frontmatter.Stamp{Now: time.Unix(1_800_000_000, 0), Source: "import:x", Most: frontmatter.External}
	line := func(v any) []byte {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for _, c := range secretcases.All(t) {
		for source, file := range map[string]fstest.MapFS{
			"obsidian":   {"a.md": {Data: []byte(c.Text)}},
			"agents-md":  {"AGENTS.md": {Data: []byte("# Rules\n\n" + c.Text + "\n")}},
			"mcp-memory": {"memory.json": {Data: line(map[string]any{"entities": []any{map[string]any{"name": "x", "observations": []string{c.Text}}}})}},
			"mem0":       {"a.jsonl": {Data: line(map[string]any{"id": 7, "memory": c.Text})}},
			"letta":      {"a.json": {Data: line([]any{map[string]any{"label": "human", "value": c.Text}})}},
		} {
			s, _ := foreign.ByName(source)
			in := &importing{steps: foreign.Plan(s.Read(file, foreign.Options{Place: "p"}).Items, nil, stamp)}
			in.guard(false)
			if len(in.steps) != 1 || (in.steps[0].What == foreign.Refused) != (c.Kind != "") {
				t.Errorf("%s from %s: %+v", c.Name, source, in.steps)
			}
		}
	}
}
