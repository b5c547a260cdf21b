package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/project"
	"engramd/internal/cli/root"
	"engramd/internal/e2e/relaytest"
	memorystate "engramd/internal/memory/state"
	"engramd/internal/platform/processes"
)

// hookRig runs hooks as one process of a harness does, in a project's folder.
type hookRig struct {
	screen bool // stdout is a terminal
	t      *testing.T
	dir    string
	folder string // of the project
	env    []string
	above  []processes.Process
	// patience is how long a hook may take in a test; the machine is shared. slack
	// is added to the time limits of what it asks, and is 0 where a relay hangs.
	patience, slack time.Duration
}

const (
	testProject = "github-com/ana/atlas-d0cc24a2"
	plantedAt   = 1795240000 // 2026-11-21
)

func newHookRig(t *testing.T, relays ...string) *hookRig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &hookRig{t: t, dir: dir, folder: filepath.Join(dir, "atlas"), above: []processes.Process{{ID: "7@1", Name: "sh"}, {ID: "6@1", Name: "claude"}}, patience: time.Minute, slack: slack}
	r.write("agent.key", relaytest.Agent().Secret+"\n")
	r.write("atlas/.git/config", "[remote \"origin\"]\n\turl = git@github.com:Ana/Atlas.git\n")
	r.env = []string{"HOME=" + dir, "XDG_CACHE_HOME=" + filepath.Join(dir, "cache"), "XDG_STATE_HOME=" + filepath.Join(dir, "state"),
		"ENGRAM_KEY_FILE=" + filepath.Join(dir, "agent.key"), "ENGRAM_OWNER=" + relaytest.Owner().Pub, "ENGRAM_RELAYS=" + strings.Join(relays, ",")}
	return r
}

func (r *hookRig) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// plant publishes memories, all with the same time.
func (r *hookRig) plant(url string, texts map[string]string) {
	r.t.Helper()
	c, err := relaytest.Dial(url)
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	for slug, text := range texts {
		ev := relaytest.Memory(relaytest.Agent(), relaytest.Owner().Pub, slug, text, plantedAt)
		if slug == "core" {
			ev = relaytest.Sign(relaytest.Agent(), relaytest.KindEngram, plantedAt, relaytest.Seal(relaytest.Agent(), relaytest.Owner().Pub, fmt.Sprintf(`{"slug":"core","profile":%q}`, text)),
				nostr.Tag{"d", relaytest.Address(relaytest.Agent(), relaytest.Owner().Pub, slug)}, nostr.Tag{"p", relaytest.Owner().Pub})
		}
		if answer, err := c.Publish(ev); err != nil || !answer.True {
			r.t.Fatalf("%s: %+v, %v", slug, answer, err)
		}
	}
}

// hooked is the result of a hook.
type hooked struct {
	code           int
	stdout, stderr string
}

// run runs engramctl.
func (r *hookRig) run(stdin io.Reader, args ...string) hooked {
	r.t.Helper()
	var stdout, stderr bytes.Buffer
	m := &root.Main{Args: args, Env: r.env, Dir: r.folder, Stdin: stdin, Stdout: &stdout, Stderr: &stderr, HookTime: r.patience, Slack: r.slack, Ancestors: func() []processes.Process { return r.above },
		Terminal: cliutil.Terminal{Password: func(context.Context, string) (string, error) { r.t.Error("somebody is asked"); return "", nil }, Stdin: true, Stdout: r.screen, Stderr: true}}
	code := m.Run(r.t.Context())
	return hooked{code, stdout.String(), stderr.String()}
}

// hook runs a hook, which must succeed.
func (r *hookRig) hook(harness, event, stdin string) string {
	r.t.Helper()
	got := r.run(strings.NewReader(stdin), "hook", event, "--harness", harness)
	if got.code != 0 || strings.Contains(got.stderr, "there is no event") {
		r.t.Errorf("%s, %s: exit code %d, stderr %s", harness, event, got.code, got.stderr)
	}
	return got.stdout
}

// state opens the state of the rig's machine.
func (r *hookRig) state(do func(*memorystate.State)) {
	r.t.Helper()
	a := cliutil.New(&cliutil.System{Env: r.env, Dir: r.folder, Slack: r.slack})
	if err := project.WithState(r.t.Context(), a, func(s *memorystate.State) error { do(s); return nil }); err != nil {
		r.t.Fatal(err)
	}
}

func (r *hookRig) serve() {
	r.t.Helper()
	r.state(func(s *memorystate.State) {
		if err := s.Sessions.Serve(r.t.Context(), memorystate.Server{Ancestors: []string{"6@1"}, Folder: r.folder}); err != nil {
			r.t.Fatal(err)
		}
	})
}
