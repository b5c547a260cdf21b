//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr/nip49"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/root"
	"engramd/internal/cli/settings"
)

const (
	testSecret = "0000000000000000000000000000000000000000000000000000000000000001"
	testOwner  = "c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"
)

// TestCoreEndsWhateverHangs: a call that cannot be cancelled does not delay it,
// and writes nothing afterwards.
func TestCoreEndsWhateverHangs(t *testing.T) {
	encrypted, err := settings.Encrypt(testSecret, "x", 4, nip49.ClientDoesNotTrackThisData)
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "nobody-writes.key")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	deaf := func(context.Context, string) (string, error) { <-release; return "x", nil }
	for _, c := range []struct{ name, env string }{
		{"a person who does not answer", "ENGRAM_KEY=" + encrypted},
		{"a pipe that nobody writes", "ENGRAM_KEY_FILE=" + pipe},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			m := &root.Main{
				Args:   []string{"core", "--timeout", "300ms", "--relay", "ws://127.0.0.1:1", "-v"},
				Env:    []string{c.env, "ENGRAM_OWNER=" + testOwner},
				Stdout: &stdout, Stderr: &stderr, Terminal: cliutil.Terminal{Password: deaf},
			}
			start := time.Now()
			code := m.Run(t.Context())
			if took := time.Since(start); took > time.Minute {
				t.Errorf("it took %v", took)
			}
			if code != exit.Relay || stdout.Len() > 0 || !strings.Contains(stderr.String(), "within 300ms") {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, &stdout, &stderr)
			}
		})
	}
	close(release)
	if f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		f.Close() // lets the reader that was left behind end
	}
}
