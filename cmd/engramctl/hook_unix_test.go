//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"engramd/internal/hook"
)

// TestHookBesidePipes: a file that never ends takes a hook no longer than its
// time, whichever of its files it is.
func TestHookBesidePipes(t *testing.T) {
	for _, name := range []string{"agent.key", ".config/engramd/engramctl.toml", "state/engramd/hook.log"} {
		r := newHookRig(t, "ws://127.0.0.1:1")
		r.write(filepath.Join(filepath.Dir(name), "beside"), "") // makes the folder
		path := filepath.Join(r.dir, filepath.FromSlash(name))
		_ = syscall.Unlink(path)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		r.patience = 100 * time.Millisecond
		for _, event := range hook.Events {
			got := r.run(strings.NewReader(`{"session_id":"s","prompt":"When does Ana paint the boats?"}`), "hook", string(event))
			if got.code != 0 || event != hook.SessionStart && got.stdout != "" || event == hook.SessionStart && !strings.HasPrefix(got.stdout, "[Agent Memory — unavailable]") {
				t.Errorf("%s, %s: %+v", name, event, got)
			}
		}
	}
}
