package session

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"engramd/internal/agent/hook"
	"engramd/internal/cli/cliutil"
)

// TestHookTime: a profile says how long a hook may take, within bounds; the start of a
// session, and one of which the settings cannot be read, have what they always have.
func TestHookTime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"":                    HookBudget,
		`hook_time = "2s"`:    2 * time.Second,
		`hook_time = "100ms"`: 100 * time.Millisecond,
		`hook_time = "99ms"`:  HookBudget,
		`hook_time = "5s"`:    HookBudget,
		`hook_time = "soon"`:  HookBudget,
		`hook_time = 2`:       HookBudget,
	} {
		path := filepath.Join(t.TempDir(), "engramctl.toml")
		if err := os.WriteFile(path, []byte("profile = \"p\"\n[profiles.p]\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		env := cliutil.New(&cliutil.System{Env: []string{"ENGRAM_CONFIG=" + path}, Slack: time.Minute})
		if got := hookTime(env, hook.Prompt) - time.Minute; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		if got := hookTime(env, hook.SessionStart) - time.Minute; got < 2*time.Second || got > 3*time.Second {
			t.Errorf("%s: a start has %v", text, got)
		}
		_, err := env.Profile()
		if wrong := want == HookBudget && text != ""; (err != nil) != wrong {
			t.Errorf("%s: %v", text, err)
		}
	}
}
