//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"engramd/internal/cli/exit"
	"engramd/internal/cli/root"
	"engramd/internal/cli/settings"
	"engramd/internal/e2e/relaytest"
)

// webRig is a home with an agent's profile and its owner's encrypted key, and a
// browser that tells what it was asked to open.
type webRig struct {
	t                   *testing.T
	dir, opened, locked string
	env                 []string
	stderr              guarded
}

// guarded is what a program says, for a test that looks meanwhile.
type guarded struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines chan string
}

func (g *guarded) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lines != nil {
		g.lines <- string(b)
	}
	return g.text.Write(b)
}

// newWebRig has a browser that does with the file it is given what a script says, and
// tells its arguments in the pipe opened.
func newWebRig(t *testing.T, does string) *webRig {
	r := &webRig{t: t, dir: t.TempDir()}
	r.stderr.lines = make(chan string, 8)
	r.opened = filepath.Join(r.dir, "opened")
	owner, text, err := settings.NewKey("a password", 1)
	if err != nil {
		t.Fatal(err)
	}
	r.locked = text
	if err := syscall.Mkfifo(r.opened, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"c.toml":                "profile = \"p\"\n[profiles.p]\nrelays = [\"ws://127.0.0.1:1\"]\nkey_file = \"a.key\"\nname = \"Sami\"\nowner = \"" + owner.PubKey() + "\"\n",
		"a.key":                 relaytest.Agent().Secret + "\n",
		"p.owner.ncryptsec":     text + "\n",
		"bin/xdg-open":          "#!/bin/sh\n" + does + "\n",
		"run/.keep":             "",
		"own/other.toml":        "profile = \"p\"\n[profiles.p]\nrelays = [\"ws://127.0.0.1:1\"]\nkey_file = \"a.key\"\nowner = \"" + relaytest.Owner().Pub + "\"\n",
		"own/a.key":             relaytest.Agent().Secret + "\n",
		"own/q.owner.ncryptsec": text + "\n",
	} {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(r.dir, "bin", "xdg-open"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.env = []string{"HOME=" + r.dir, "XDG_RUNTIME_DIR=" + filepath.Join(r.dir, "run"), "DISPLAY=:0", "PATH=" + filepath.Join(r.dir, "bin"), "OPENED=" + r.opened}
	return r
}

// start starts engramctl web; end ends it.
func (r *webRig) start(slack time.Duration, args ...string) (url string, end func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	read, write := io.Pipe()
	m := &root.Main{Args: append([]string{"web", "--listen", "127.0.0.1:0"}, args...), Dir: r.dir, Env: r.env, Stdin: strings.NewReader(""), Stdout: write, Stderr: &r.stderr, Slack: slack}
	ended := make(chan int, 1)
	go func() {
		ended <- m.Run(ctx)
		_ = write.Close() // closing a pipe cannot fail
	}()
	line := make([]byte, 100)
	n, err := read.Read(line)
	if url = strings.TrimSpace(string(line[:n])); err != nil || !strings.HasSuffix(url, "/app/") {
		cancel()
		r.t.Fatalf("%q, %v, %s", url, err, &r.stderr.text)
	}
	return url, func() {
		cancel()
		if code := <-ended; code != exit.OK {
			r.t.Errorf("exit code %d: %s", code, &r.stderr.text)
		}
	}
}

// unlock asks for the key as the page does.
func (r *webRig) unlock(url, ticket string) (int, string) {
	req, err := http.NewRequest("POST", url+"unlock", strings.NewReader(`{"ticket":"`+ticket+`"}`))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", strings.TrimSuffix(url, "/app/"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestWebUnlocks: the browser is led to the page by a file with a ticket, which stands
// in no command line and is nobody else's to read. The ticket gives the encrypted key,
// once, and the file is gone then.
func TestWebUnlocks(t *testing.T) {
	r := newWebRig(t, `echo "$@" > "$OPENED"`)
	url, end := r.start(slack, "--config", "c.toml")
	said, err := os.ReadFile(r.opened)
	if err != nil {
		t.Fatal(err)
	}
	path := strings.TrimSpace(string(said))
	text, err := os.ReadFile(path)
	m := regexp.MustCompile(`url=(http://[^"]*/app/)#unlock=([A-Z2-7]{26})"`).FindStringSubmatch(string(text))
	if err != nil || m == nil || m[1] != url || strings.Contains(string(said), m[2]) {
		t.Fatalf("%q, asked to open %q: %v", text, said, err)
	}
	if os.Getuid() == 0 {
		for _, dir := range []string{filepath.Dir(r.dir), r.dir} {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		cat := exec.Command("cat", path)
		cat.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cat.CombinedOutput(); err == nil {
			t.Errorf("another user reads %s", out)
		}
	}
	code, got := r.unlock(url, m[2])
	if agent := relaytest.Agent().Pub; code != 200 || got != `{"ncryptsec":"`+r.locked+`","agent":"`+agent+`","names":{"`+agent+`":"Sami"}}`+"\n" {
		t.Errorf("%d %s", code, got)
	}
	if code, got := r.unlock(url, m[2]); code != http.StatusGone || strings.Contains(got, "ncryptsec") {
		t.Errorf("a second time: %d %s", code, got)
	}
	end()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s is there still: %v", path, err)
	}
	if r.stderr.text.Len() > 0 {
		t.Errorf("it said %s", &r.stderr.text)
	}
}

// TestWebTellsACode: where the browser does not come, where there is none, and where
// none is wanted, a person is told a code, and it gives the key.
func TestWebTellsACode(t *testing.T) {
	const none = -5 * time.Second // of the five that the browser has
	for name, c := range map[string]struct {
		slack time.Duration
		env   string
		args  []string
	}{
		"the browser does not come": {slack: none},
		"no display":                {env: "DISPLAY="},
		"no browser is wanted":      {args: []string{"--no-open"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newWebRig(t, "exit 0")
			r.env = append(r.env, c.env)
			url, end := r.start(c.slack, append([]string{"--config", "c.toml"}, c.args...)...)
			line := <-r.stderr.lines
			m := regexp.MustCompile(`type the code ([A-Z2-7]{4})-([A-Z2-7]{4})\. It works once, for 1m0s`).FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("it said %q", line)
			}
			if code, got := r.unlock(url, m[1]+m[2]); code != 200 || !strings.Contains(got, r.locked) {
				t.Errorf("%d %s", code, got)
			}
			end()
		})
	}
}

// TestWebHasNoKeyToGive: where the owner's key is not this profile's there is nothing to
// unlock, and the browser opens the address itself.
func TestWebHasNoKeyToGive(t *testing.T) {
	for name, args := range map[string][]string{
		"no key":          {"--config", "own/other.toml"},
		"another's owner": {"--config", "c.toml", "--relay", "ws://127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newWebRig(t, `echo "$@" > "$OPENED"`)
			if name == "another's owner" {
				r.env = append(r.env, "ENGRAM_OWNER="+relaytest.Owner().Pub, "ENGRAM_KEY_FILE=a.key")
			}
			url, end := r.start(slack, args...)
			said, err := os.ReadFile(r.opened)
			if err != nil || strings.TrimSpace(string(said)) != url {
				t.Errorf("asked to open %q: %v", said, err)
			}
			if code, _ := r.unlock(url, "AAAAAAAA"); code != http.StatusNotFound && code != http.StatusMethodNotAllowed {
				t.Errorf("it has a key to give: %d", code)
			}
			end()
		})
	}
}
