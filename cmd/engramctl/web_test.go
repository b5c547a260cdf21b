package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/cli/exit"
	"engramd/internal/web"
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
	m := &Main{Args: []string{"web", "--listen", "127.0.0.1:0", "--config", config}, Dir: dir, Stdin: strings.NewReader(""), Stdout: write, Stderr: &stderr}
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

// TestWebIsForThisMachine: the page is served under this machine's own names
// only.
func TestWebIsForThisMachine(t *testing.T) {
	h := webHandler(web.New(nil, "v1"))
	for host, want := range map[string]int{
		"127.0.0.1:7449": 200, "127.0.0.2": 200, "localhost:1": 200, "LocalHost": 200, "[::1]:7449": 200, "[::1]": 200, "[::ffff:127.0.0.1]:1": 200,
		"relay.example:7449": 421, "127.0.0.1.example": 421, "10.0.0.1:7449": 421, "": 421, "0.0.0.0": 421, "localhost.example:1": 421,
	} {
		r := httptest.NewRequest("GET", "/app/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("Host %q: %d, want %d", host, w.Code, want)
		}
	}
	for path, want := range map[string][2]string{"/": {"302", "/app/"}, "/app": {"308", "app/"}, "/other": {"404", ""}, "/app/nothing": {"404", ""}, "/app/../web.go": {"404", ""}} {
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); !strings.HasPrefix(w.Result().Status, want[0]) || w.Header().Get("Location") != want[1] {
			t.Errorf("%s: %s %v", path, w.Result().Status, w.Header())
		}
	}
}
