//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"engramd/internal/agent/hook"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/memory/quote"
	"engramd/internal/platform/files"
)

// TestHookBesidePipes: a file that never ends delays a hook no longer than its
// time limit, whichever of its files it is.
func TestHookBesidePipes(t *testing.T) {
	for _, name := range []string{"agent.key", ".config/engramd/engramctl.toml", "state/engramd/hook.log"} {
		r := newHookRig(t, "ws://127.0.0.1:1")
		r.write(filepath.Join(filepath.Dir(name), "beside"), "") // makes the folder
		path := filepath.Join(r.dir, filepath.FromSlash(name))
		_ = syscall.Unlink(path)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		r.patience, r.slack = 100*time.Millisecond, 0
		for _, event := range hook.Events {
			got := r.run(strings.NewReader(`{"session_id":"s","prompt":"When does Ana paint the boats?"}`), "hook", string(event))
			if got.code != 0 || event != hook.SessionStart && got.stdout != "" || event == hook.SessionStart && !strings.HasPrefix(got.stdout, "[Agent Memory — unavailable]") {
				t.Errorf("%s, %s: %+v", name, event, got)
			}
		}
	}
}

// TestHookBesideStopped: a process that was stopped while it opened the state
// or the copy does not keep the core from a session.
func TestHookBesideStopped(t *testing.T) {
	url := relaytest.Start(t, relaytest.Options{}).URL
	r := newHookRig(t, url)
	r.plant(url, planted)
	said := `{"session_id":"s","prompt":"When does Ana paint the boats?"}`
	r.hook("claude", "session-start", said)
	locks, err := filepath.Glob(filepath.Join(r.dir, "*", "engramd", "*.lock"))
	if err != nil || len(locks) != 2 {
		t.Fatalf("%v, %v", locks, err)
	}
	for _, path := range locks {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := files.TryLock(f); err != nil {
			t.Fatal(err)
		}
	}
	const unread = "[Agent Memory — the rest was not read]\n" // which is not that there is none
	const core = "[Agent Memory — core]\n" + quote.Notice + "| I am Sami."
	for r.slack = 0; ; r.slack = 3*r.slack + time.Second { // the relay may have had too little time
		got := r.hook("generic", "session-start", said)
		if strings.HasPrefix(got, core) && strings.Contains(got, unread) {
			break
		}
		if r.slack > slack {
			t.Fatalf("a session begins with\n%s", got)
		}
	}
	if got := r.run(nil, "wake", "--json"); got.code != 0 || !strings.Contains(got.stdout, `"stale": true,`) || !strings.Contains(got.stdout, `"unread": true`) {
		t.Errorf("wake says %+v", got)
	}
	r.patience, r.slack = 100*time.Millisecond, 0
	for _, event := range hook.Events[1:] {
		if got := r.hook("generic", string(event), said); got != "" {
			t.Errorf("%s tells %s", event, got)
		}
	}
}
