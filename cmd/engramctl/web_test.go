package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/cli/exit"
	"engramd/internal/cli/root"
)

// TestWebIsServed: the page is on a loopback port, with the profile's relays
// and no key; the command succeeds when its context ends.
func TestWebIsServed(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "c.toml")
	text := "profile = \"p\"\n[profiles.p]\nrelays = [\"wss://relay.example\"]\nkey_file = \"not.there\"\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	var stderr bytes.Buffer
	m := &root.Main{Args: []string{"web", "--listen", "127.0.0.1:0", "--config", config}, Dir: dir, Stdin: strings.NewReader(""), Stdout: write, Stderr: &stderr}
	ended := make(chan int, 1)
	go func() {
		ended <- m.Run(ctx)
		_ = write.Close() // closing a pipe cannot fail
	}()
	line := make([]byte, 100)
	n, err := read.Read(line)
	url := strings.TrimSpace(string(line[:n]))
	if err != nil || !strings.HasPrefix(url, "http://127.0.0.1:") || !strings.HasSuffix(url, "/app/") {
		cancel()
		t.Fatalf("%q, %v, %s", url, err, &stderr)
	}
	for name, want := range map[string]string{"": "<title>Owner's page</title>", "relay.json": `{"urls":["wss://relay.example"],"version":"engramctl dev"}`} {
		resp, err := http.Get(url + name)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if resp.Body.Close(); err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), want) {
			t.Errorf("%q: %d %s %v", name, resp.StatusCode, body, err)
		}
	}
	cancel()
	if code := <-ended; code != exit.OK || stderr.Len() > 0 {
		t.Errorf("exit code %d, %s", code, &stderr)
	}
}
