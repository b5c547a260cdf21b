//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/mind"
	"engramd/internal/cli/root"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/memory/consolidation/thinker"
)

// heard is a writer that reports when its text contains a given one.
type heard struct {
	word string
	mu   sync.Mutex
	text bytes.Buffer
	is   chan struct{}
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := strings.Contains(h.text.String(), h.word)
	_, _ = h.text.Write(p) // a buffer's Write never fails
	if !before && strings.Contains(h.text.String(), h.word) {
		close(h.is)
	}
	return len(p), nil
}

// TestMindRunEvery: --every thinks at once and then waits, also after a
// failure. A signal ends it while it waits or thinks, which is no failure, and
// frees its turn.
func TestMindRunEvery(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{})
	r := newHookRig(t, relay.URL)
	r.plant(relay.URL, map[string]string{"mem/journal/2026/11/01/0700-aaaaaaaa": "---\ntype: episodic\n---\nAna chose SQLite."})
	r.env = append(r.env, "PATH="+os.Getenv("PATH"), "TMPDIR="+t.TempDir())
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ command, says string }{
		"waiting":  {`cat >/dev/null; echo '{"operations": []}'`, "0 operations were asked for"},
		"failing":  {"exit 1", "exit status 1"},
		"thinking": {"echo begun >" + pipe + "; sleep 3600", ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stderr := &heard{word: c.says, is: make(chan struct{})}
			m := &root.Main{Args: []string{"mind", "run", "--every", "4h", "--exec", c.command}, Env: r.env, Dir: r.folder,
				Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: stderr, Slack: slack}
			ended := make(chan int, 1)
			go func() { ended <- m.Run(ctx) }()
			if c.says != "" {
				<-stderr.is
			} else if _, err := os.ReadFile(pipe); err != nil {
				t.Fatal(err)
			}
			cancel()
			if code := <-ended; code != exit.OK {
				t.Errorf("exit code %d: %s", code, stderr.text.String())
			}
			turn, err := thinker.Take(mind.ThinkLock(cliutil.New((*cliutil.System)(m))))
			if err != nil {
				t.Fatal(err)
			}
			_ = turn.Close() // nothing was written
		})
	}
}
