package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/root"
	"engramd/internal/cli/settings"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/recall/answer"
	"engramd/nips/nipae"
)

// localApp returns an engramctl of the agent with its cache in a folder.
func localApp(t *testing.T, cache string, relays ...string) (*cliutil.Env, *bytes.Buffer) {
	t.Helper()
	stderr := &bytes.Buffer{}
	a := cliutil.New(&cliutil.System{Stdout: &bytes.Buffer{}, Stderr: stderr, Env: []string{"HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + cache,
		"ENGRAM_KEY=" + relaytest.Agent().Secret, "ENGRAM_OWNER=" + relaytest.Owner().Pub, "ENGRAM_RELAYS=" + strings.Join(relays, ",")}})
	root.New(a) // sets the flags' defaults
	a.Flags.Timeout = relaytest.Patience
	return a, stderr
}

func answersForAll(f localcopy.Freshness) bool { return !f.Stale && !f.Unfinished }

// copied returns what a run finds in the local copy within a time limit.
func copied(t *testing.T, a *cliutil.Env, budget time.Duration) (slugs []string, fresh localcopy.Freshness) {
	t.Helper()
	err := cliutil.WithCopy(t.Context(), a, budget, func(ctx context.Context, _ *session.Session, l *session.Copy) error {
		var err error
		if fresh, err = l.Follower.Freshness(ctx); err != nil {
			return err
		}
		if status := l.Status(answer.State{Stale: fresh.Stale, Unfinished: fresh.Unfinished}); status.Partial == answersForAll(fresh) || len(status.Relays) == 0 {
			t.Errorf("%+v, %+v", status, fresh)
		}
		return l.Read(ctx, func(v *localcopy.View) error {
			slugs = nil
			for h := range v.Heads("") {
				slugs = append(slugs, h.Slug)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return slugs, fresh
}

func keepIn(t *testing.T, a *cliutil.Env, slug nipae.Slug, text string) {
	t.Helper()
	err := cliutil.WithOwnMemory(t.Context(), a, func(ctx context.Context, m *session.Memory) error {
		_, _, err := m.Set(ctx, slug, text, memory.SetOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// filesBelow returns the files below a folder.
func filesBelow(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
			return nil
		}
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestLocalCopy: a run catches up and continues from what the last one kept; a
// relay that hangs costs no more than the time limit, and what is missing is
// marked.
func TestLocalCopy(t *testing.T) {
	relay, cache := relaytest.Start(t, relaytest.Options{}), t.TempDir()
	a, stderr := localApp(t, cache, relay.URL)
	keepIn(t, a, "mem/a", "one")
	if len(filesBelow(t, cache)) > 0 {
		t.Error("a write begins a copy")
	}
	if got, fresh := copied(t, a, 0); len(got) != 1 || !answersForAll(fresh) {
		t.Errorf("%v, %+v", got, fresh)
	}
	if len(filesBelow(t, cache)) == 0 {
		t.Error("nothing is kept")
	}
	// A write of another run is in the copy at once, whoever answers later.
	again, _ := localApp(t, cache, relay.URL)
	keepIn(t, again, "mem/b", "two")
	silent := relaytest.Silent(t)
	for _, budget := range []time.Duration{150 * time.Millisecond, time.Second} {
		late, _ := localApp(t, cache, silent)
		start := time.Now()
		got, fresh := copied(t, late, budget)
		if took := time.Since(start); len(got) != 2 || answersForAll(fresh) || took > relaytest.Patience/2 {
			t.Errorf("%v, %+v after %v", got, fresh, took)
		}
	}
	both, _ := localApp(t, cache, silent, relay.URL)
	start := time.Now()
	if got, fresh := copied(t, both, 0); len(got) != 2 || answersForAll(fresh) || fresh.Latest.IsZero() {
		t.Errorf("%v, %+v", got, fresh)
	}
	if took := time.Since(start); took > relaytest.Patience/2 {
		t.Errorf("beside one that hangs it took %v", took)
	}
	if stderr.Len() > 0 {
		t.Errorf("stderr: %s", stderr)
	}
}

// TestNoMirror: with --no-mirror nothing is kept on disk, and the answers are
// the same.
func TestNoMirror(t *testing.T) {
	relay, cache := relaytest.Start(t, relaytest.Options{}), t.TempDir()
	config := filepath.Join(t.TempDir(), "engramctl.toml")
	if err := os.WriteFile(config, []byte("profile = \"p\"\n[profiles.p]\nno_mirror = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(a *cliutil.Env){
		"flag":    func(a *cliutil.Env) { a.Flags.NoMirror = true },
		"profile": func(a *cliutil.Env) { a.Flags.Config = config },
	} {
		a, _ := localApp(t, cache, relay.URL)
		change(a)
		keepIn(t, a, "mem/a", name)
		if got, fresh := copied(t, a, 0); len(got) != 1 || !answersForAll(fresh) {
			t.Errorf("%s: %v, %+v", name, got, fresh)
		}
	}
	if left := filesBelow(t, cache); len(left) > 0 {
		t.Errorf("on the disk: %v", left)
	}
}

// TestNoPlaceForTheCopy: where no file can be written, the relays still answer.
func TestNoPlaceForTheCopy(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a, stderr := localApp(t, file, relay.URL)
	keepIn(t, a, "mem/a", "one")
	if got, fresh := copied(t, a, 0); len(got) != 1 || !answersForAll(fresh) || !strings.Contains(stderr.String(), "nothing of the memory is kept on this machine") {
		t.Errorf("%v, %+v: %s", got, fresh, stderr)
	}
}

// TestMCPKeepsACopy: the server follows the relays from its start, before the
// first call, and the copy outlives it.
func TestMCPKeepsACopy(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{})
	writer, _ := localApp(t, t.TempDir(), relay.URL)
	keepIn(t, writer, "mem/a", "one")
	c := startMCP(t, relaytest.Agent(), "--owner", settings.Npub(relaytest.Owner().Pub), "--relay", relay.URL)
	home, _ := strings.CutPrefix(c.cmd.Env[len(c.cmd.Env)-1], "HOME=")
	cache := filepath.Join(home, ".cache")
	silent := relaytest.Silent(t)
	has := func(n int) {
		t.Helper()
		for deadline := time.Now().Add(relaytest.Patience); ; {
			beside, _ := localApp(t, cache, silent)
			if got, _ := copied(t, beside, 50*time.Millisecond); len(got) == n {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the copy has not %d memories:\n%s", n, c.stderr)
			}
		}
	}
	has(1)
	keepIn(t, writer, "mem/b", "elsewhere")
	has(2)
	c.call("memory_write", map[string]any{"slug": "c", "text": "here"}, false)
	c.stdin.Close()
	c.ended()
	has(3)
}
