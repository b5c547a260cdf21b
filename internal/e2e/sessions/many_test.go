//go:build nightly

package sessions

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
)

// plant publishes memories.
func plant(t *testing.T, url string, texts map[string]string) {
	t.Helper()
	c, err := relaytest.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for slug, text := range texts {
		if answer, err := c.Publish(relaytest.Memory(relaytest.Agent(), relaytest.Owner().Pub, slug, text, time.Now().Unix()-60)); err != nil || !answer.True {
			t.Fatalf("%s: %+v, %v", slug, answer, err)
		}
	}
}

// TestEightHooksAtOnce: several hooks of a session at once do not wait for each other to
// tell a text, which is not told again after that; and hooks that are killed leave state
// and copy intact.
func TestEightHooksAtOnce(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{})
	plant(t, relay.URL, map[string]string{"mem/boats": "Ana paints the boats in spring, before the regatta."})
	m := newMachine(t, relay.URL)
	m.hook("session-start", "s", nil)
	m.ctlOK("mem", "stats", "--wait", "2m") // where the start had no time for the copy
	said := map[string]any{"prompt": "When does Ana paint the boats?"}
	var mu sync.Mutex
	var all sync.WaitGroup
	shown := 0
	for range 8 {
		all.Go(func() {
			var stdout bytes.Buffer
			cmd := m.command(t.Context(), "prompt", m.input("s", said))
			cmd.Stdout = &stdout
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if got := stdout.String(); strings.Contains(got, "in spring") {
				shown++
			} else if got != "" {
				t.Errorf("told %s", got)
			}
		})
	}
	all.Wait()
	if shown == 0 && m.prompt("s", said["prompt"].(string)) == "" {
		t.Error("it is never told")
	}
	if got := m.hook("prompt", "s", said); got != "" {
		t.Errorf("then it is told again: %s", got)
	}

	events := []string{"session-start", "prompt", "stop", "subagent-start", "session-end"}
	for round := range 4 {
		for i := range 8 {
			all.Go(func() {
				// Some are killed at a random time between start and end.
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(3+7*(8*round+i))*time.Millisecond)
				defer cancel()
				cmd := m.command(ctx, events[i%len(events)], m.input("k", said))
				cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the shell's child is killed with it
				cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
				cmd.WaitDelay = time.Second
				_ = cmd.Run()
			})
		}
		all.Wait()
	}
	if got := m.prompt("after", said["prompt"].(string)); !strings.Contains(got, "in spring") {
		t.Errorf("after the kills a prompt is told %q", got)
	}
	aside, err := filepath.Glob(filepath.Join(filepath.Dir(m.project), "*", "engramd", "*aside*"))
	if err != nil || len(aside) > 0 {
		t.Errorf("set aside: %v, %v", aside, err)
	}
	log, err := os.ReadFile(filepath.Join(filepath.Dir(m.project), "state", "engramd", "hook.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if !strings.Contains(line, " claude session=") || !strings.HasSuffix(line, "ms\n") {
			t.Errorf("a line of the log is torn: %q", line)
		}
	}
}

// TestReaderIsGone: a hook exits with 0 even if nobody reads its output.
func TestReaderIsGone(t *testing.T) {
	m := newMachine(t) // without a relay, so that both streams get output
	for _, event := range []string{"session-start", "prompt"} {
		cmd := exec.CommandContext(t.Context(), m.ctl, "hook", event, "--harness", "claude")
		cmd.Dir, cmd.Env, cmd.Stdin = m.project, m.env, strings.NewReader(m.input("s", nil))
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		cmd.Stdout, cmd.Stderr = w, w
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v", event, err)
		}
		w.Close()
	}
}
