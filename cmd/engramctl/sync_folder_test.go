package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engramd/internal/cli/exit"
	"engramd/internal/cli/root"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/memory/folder"
)

// watchRig is a home with a key, machines that use it, and a write of another.
func watchRig(t *testing.T) (home string, machine func(name string, out io.Writer, args ...string) *root.Main, set func(slug, text string)) {
	relay := relaytest.Start(t, relaytest.Options{})
	home = t.TempDir()
	keyFile := filepath.Join(home, "agent.key")
	if err := os.WriteFile(keyFile, []byte(relaytest.Agent().Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	machine = func(name string, out io.Writer, args ...string) *root.Main {
		return &root.Main{Args: args, Dir: home, Stdin: strings.NewReader(""), Stdout: out, Stderr: out, Slack: slack, Env: []string{
			"HOME=" + home, "ENGRAM_KEY_FILE=" + keyFile, "ENGRAM_OWNER=" + relaytest.Owner().Pub, "ENGRAM_RELAYS=" + relay.URL,
			"XDG_CACHE_HOME=" + filepath.Join(home, name), "XDG_STATE_HOME=" + filepath.Join(home, name)}}
	}
	set = func(slug, text string) {
		t.Helper()
		if code := machine("other", io.Discard, "mem", "set", slug, text).Run(t.Context()); code != exit.OK {
			t.Fatalf("mem set: exit code %d", code)
		}
	}
	return home, machine, set
}

// TestWatchedFolderIsRemoved: removing the folder while it is watched ends the
// watching, and is not taken for a deletion of its files.
func TestWatchedFolderIsRemoved(t *testing.T) {
	home, machine, set := watchRig(t)
	set("people/ana", "likes tea")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- machine("this", write, "sync", "memory", "--watch", "--yes", "--delete").Run(ctx)
		write.Close()
	}()
	lines := bufio.NewScanner(read)
	for lines.Scan() && !strings.Contains(lines.Text(), "1 to the folder") {
	}
	dir := filepath.Join(home, "memory")
	for _, name := range []string{".engram", "core.md", "mem/people"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for lines.Scan() {
		if strings.Contains(lines.Text(), "remove ") {
			t.Errorf("it said %q", lines.Text())
			interrupt()
		}
	}
	if code := <-ended; code != exit.Usage {
		t.Errorf("exit code %d", code)
	}
	var out strings.Builder
	if code := machine("other", &out, "mem", "get", "people/ana").Run(t.Context()); code != exit.OK || !strings.Contains(out.String(), "likes tea") {
		t.Errorf("exit code %d: the memory is %q", code, out.String())
	}
}

// TestWatchFolder: sync --watch sends what an editor saves to the memory,
// writes what another machine changed to the folder, and ends when it is
// interrupted.
func TestWatchFolder(t *testing.T) {
	home, machine, set := watchRig(t)
	set("people/ana", "likes tea")

	ctx, interrupt := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- machine("this", write, "sync", "memory", "--watch", "--yes").Run(ctx)
		write.Close()
	}()
	lines := bufio.NewScanner(read)
	await := func(want string) {
		t.Helper()
		for lines.Scan() {
			t.Log(lines.Text())
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("no %q was said", want)
	}
	await("1 to the folder")
	dir := filepath.Join(home, "memory")

	// An editor's way of saving: a new file replaces the old one; in a new folder.
	tmp := filepath.Join(dir, "mem", "people", "ana.md~")
	if err := os.WriteFile(tmp, []byte("likes coffee"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, "mem", "people", "ana.md")); err != nil {
		t.Fatal(err)
	}
	await("<- write  mem/people/ana")
	if err := os.MkdirAll(filepath.Join(dir, "mem", "new", "er"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mem", "new", "er", "x.md"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	await("<- write  mem/new/er/x")

	set("people/ben", "sails")
	await("-> write  mem/people/ben.md")

	interrupt()
	for lines.Scan() { // the rest of its output
	}
	if code := <-ended; code != exit.OK {
		t.Errorf("exit code %d", code)
	}
	for file, want := range map[string]string{"ana.md": "likes coffee", "ben.md": "sails"} {
		if text, err := os.ReadFile(filepath.Join(dir, "mem", "people", file)); string(text) != want {
			t.Errorf("%s is %q, %v", file, text, err)
		}
	}
}

// TestSettle: changes that belong together are waited for, but not for ever, by
// the test's clock.
func TestSettle(t *testing.T) {
	came, timers := make(chan struct{}), make(chan chan time.Time)
	after := func(time.Duration) <-chan time.Time {
		c := make(chan time.Time, 1)
		timers <- c
		return c
	}
	done := make(chan bool)
	settle := func(ctx context.Context) {
		go func() { done <- folder.Settle(ctx, came, time.Second, time.Minute, after) }()
	}
	settle(t.Context())
	<-timers // the end
	<-timers
	came <- struct{}{}
	quiet := <-timers
	select {
	case <-done:
		t.Fatal("it did not wait again")
	default:
	}
	quiet <- time.Time{}
	if !<-done {
		t.Error("quiet is not settled")
	}
	settle(t.Context())
	end := <-timers
	<-timers
	end <- time.Time{}
	if !<-done {
		t.Error("it waits for ever")
	}
	ctx, cancel := context.WithCancel(t.Context())
	settle(ctx)
	<-timers
	<-timers
	cancel()
	if <-done {
		t.Error("an end counts as settled")
	}
}

// TestFolderRoundTrip: texts go to a relay and come back byte for byte, and
// texts that claim what they may not are refused, naming the key.
func TestFolderRoundTrip(t *testing.T) {
	home, machine, _ := watchRig(t)
	texts := map[string]string{
		"core.md":           "I am Sami",
		"mem/crlf.md":       "one\r\ntwo\r\n",
		"mem/mixed.md":      "one\r\ntwo\nthree\r",
		"mem/bom.md":        "\ufeffwith a mark",
		"mem/no-newline.md": "no newline",
		"mem/blank.md":      "\n\n  \n",
		"mem/zero.md":       "a\x00b",
		"mem/nfd.md":        "e\u0301 and \u00e9",
		"mem/front.md":      "---\ntype: insight\nx-mine:   'kept  so'   \nzeta: [b,  a]\nalpha: 1\n---\nbody\n",
		"mem/front-crlf.md": "---\r\ntype: insight\r\nx: y\r\n---\r\nbody\r\n",
		"mem/con~.md":       "a device",
	}
	write := func(name, text string) {
		t.Helper()
		p := filepath.Join(home, "here", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range texts {
		write(name, text)
	}
	for _, args := range [][]string{{"import", "here", "--trust", "observed", "--yes"}, {"export", "there", "--yes"}} {
		var out strings.Builder
		if code := machine("this", &out, args...).Run(t.Context()); code != exit.OK {
			t.Fatalf("%v: exit code %d\n%s", args, code, out.String())
		}
	}
	for name, want := range texts {
		if got, err := os.ReadFile(filepath.Join(home, "there", filepath.FromSlash(name))); string(got) != want {
			t.Errorf("%s is %q, want %q, %v", name, got, want, err)
		}
	}
	claims := map[string]string{"created": "2020-01-01T00:00:00Z", "source": "claude-code:1", "session": "1", "consolidated": "2020-01-01T00:00:00Z", "trust": "told"}
	for key, value := range claims {
		write("mem/claims-"+key+".md", "---\n"+key+": "+value+"\n---\ntext\n")
	}
	var out strings.Builder
	if code := machine("this", &out, "import", "here").Run(t.Context()); code != exit.Usage {
		t.Errorf("exit code %d", code)
	}
	for key := range claims {
		named := false
		for line := range strings.Lines(out.String()) {
			_, why, refused := strings.Cut(line, "refused  mem/claims-"+key+".md")
			named = named || refused && strings.Contains(why, key)
		}
		if !named {
			t.Errorf("%s is not refused by name:\n%s", key, out.String())
		}
	}
}
