package harness

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestThePluginSaysTheSame: the plugin of packaging and setup install the same
// hooks, server and rule. The plugin finds engramctl in PATH where setup writes
// its path.
func TestThePluginSaysTheSame(t *testing.T) {
	place := Entry{Binary: "/usr/bin/engramctl", Scope: Project}
	onPath := func(text string) []byte { return []byte(strings.ReplaceAll(text, place.Binary, "engramctl")) }
	for _, c := range []struct{ harness, settings, plugin, servers string }{
		{"claude", ".claude/settings.local.json", "hooks/hooks.json", ".mcp.json"},
		{"codex", ".codex/hooks.json", "hooks/codex.json", ""},
		{"cursor", ".cursor/hooks.json", "hooks/cursor.json", ".cursor/mcp.json"},
	} {
		h, err := Named(c.harness)
		if err != nil {
			t.Fatal(err)
		}
		all, _ := install(t, h, files{}, roots, place)
		wrote, packed := onPath(all[filepath.Join(roots.Project, c.settings)]), inPlugin(t, c.plugin)
		if got, want := member(t, packed, "hooks"), member(t, wrote, "hooks"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the plugin's hooks are\n%v\nthose of setup\n%v", c.harness, got, want)
		}
		if c.servers == "" {
			continue // Codex keeps servers in TOML
		}
		ours := member(t, onPath(all[filepath.Join(roots.Project, c.servers)]), "mcpServers").(map[string]any)
		delete(ours["engram"].(map[string]any), "type") // the default of a command
		if got := member(t, inPlugin(t, ".mcp.json"), "mcpServers"); !reflect.DeepEqual(got, any(ours)) {
			t.Errorf("%s: the plugin's server is %v, that of setup %v", c.harness, got, ours)
		}
	}
	if got, want := string(inPlugin(t, "rules/engram.mdc")), "---\ndescription: The agent's own memory\nalwaysApply: true\n---\n"+CursorRule; got != want {
		t.Errorf("the plugin's rule is\n%s\nwant\n%s", got, want)
	}
}

func inPlugin(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../packaging/assets/plugin/engram", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func member(t *testing.T, text []byte, name string) any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return all[name]
}

// TestOpenClawAllowList: a list of plugins without ours is named, and a switch that a
// person turned stays.
func TestOpenClawAllowList(t *testing.T) {
	h, path := named(t, "openclaw"), "/home/ana/.openclaw/openclaw.json"
	for src, want := range map[string]int{`{"plugins": {"allow": ["x"]}}`: 1, `{"plugins": {"allow": ["x", "engram"]}}`: 0, `{"plugins": {"allow": []}}`: 0, `{}`: 0} {
		if s, err := h.Check(files{path: src}, roots, entry); err != nil || len(s.Notes) != want {
			t.Errorf("%s: %q, %v", src, s.Notes, err)
		}
	}
	with, plan := install(t, h, files{path: `{"plugins": {"entries": {"engram": {"enabled": false}}}}`}, roots, entry)
	if len(plan.Edited) != 1 || !strings.Contains(with[path], `"enabled": false`) {
		t.Errorf("%v\n%s", plan.Edited, with[path])
	}
}
