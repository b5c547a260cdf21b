package harness

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The packaged plugin runs the same lines at the same events, with the same
// timeouts, as Install writes: only the path of the program differs.
func TestPluginHasTheSameHooks(t *testing.T) {
	folder := filepath.Join("..", "..", "packaging", "assets", "plugin", "engram", "hooks")
	e := Entry{Binary: "/usr/bin/engramctl"}
	for name, file := range map[string]string{"claude": "hooks.json", "codex": "codex.json", "cursor": "cursor.json"} {
		want := map[string]any{}
		for _, c := range planned(t, name, Roots{Home: t.TempDir()}, e) {
			var settings struct{ Hooks map[string]any }
			text := strings.ReplaceAll(string(c.After), e.Binary, "engramctl")
			if !strings.HasSuffix(c.Path, ".json") {
				continue
			}
			if err := json.Unmarshal([]byte(text), &settings); err != nil {
				t.Fatal(err)
			}
			for event, entries := range settings.Hooks {
				want[event] = entries
			}
		}
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		var packaged struct{ Hooks map[string]any }
		if err := json.Unmarshal(text, &packaged); err != nil {
			t.Fatal(err)
		}
		if len(want) == 0 || !reflect.DeepEqual(packaged.Hooks, want) {
			t.Errorf("%s: the plugin has\n%v\nand setup writes\n%v", file, packaged.Hooks, want)
		}
	}
}
