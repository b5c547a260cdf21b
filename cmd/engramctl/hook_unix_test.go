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
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/hooklog"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/memory/quote"
	memorystate "engramd/internal/memory/state"
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
			if got.code != 0 || event != hook.SessionStart && strings.TrimPrefix(got.stdout, hook.Keep) != "" || event == hook.SessionStart && !strings.HasPrefix(got.stdout, "[Agent Memory — unavailable]") {
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
	if err != nil || len(locks) != 3 {
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
	const unread = "[Agent Memory — the rest was not read]\n"                      // which is not that there is none
	const heading, core = "[Agent Memory — core]\n", quote.Notice + "| I am Sami." // what this machine wrote is not known
	for r.slack = 0; ; r.slack = 3*r.slack + time.Second {                         // the relay may have had too little time
		got := r.hook("generic", "session-start", said)
		if strings.HasPrefix(got, heading) && strings.Contains(got, core) && strings.Contains(got, unread) {
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

// TestLatePromptIsKnown: of a prompt that was not answered in time the state has the
// session and why nothing was told, and the next one is answered.
func TestLatePromptIsKnown(t *testing.T) {
	url := relaytest.Start(t, relaytest.Options{}).URL
	r := newHookRig(t, url)
	r.plant(url, planted)
	r.asked("session-start", "s", "")
	locks, err := filepath.Glob(filepath.Join(r.dir, "cache", "engramd", "*.lock"))
	if err != nil || len(locks) != 2 {
		t.Fatalf("%v, %v", locks, err)
	}
	var held []*os.File
	for _, path := range locks {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := files.TryLock(f); err != nil {
			t.Fatal(err)
		}
		held = append(held, f)
	}
	r.patience = 300 * time.Millisecond
	if got := r.asked("prompt", "s", "When does Ana paint the boats?"); got != "" {
		t.Errorf("beside one who opens the copy a prompt is told %s", got)
	}
	for _, f := range held {
		f.Close()
	}
	r.patience = time.Minute
	if got := r.asked("prompt", "s", "When does Ana paint the boats?"); !strings.Contains(got, "in spring") {
		t.Errorf("then it is told %s", got)
	}
	r.state(func(s *memorystate.State) {
		all, err := s.Turns.Of(t.Context(), "s")
		if err != nil || len(all) != 3 || all[1].Note != memorystate.Late || all[2].Note != "" || len(all[2].Texts) != 2 || !all[2].Texts[1].Withheld || all[2].Texts[0].Slug != "mem/boats" || all[2].Texts[0].Event == "" {
			t.Errorf("%+v, %v", all, err)
		}
	})
	if why, of := hooklog.Silent(cliutil.New(&cliutil.System{Env: r.env}), 50); why["late"] != 1 || of != 2 {
		t.Errorf("%v of %d were not answered", why, of)
	}
}
