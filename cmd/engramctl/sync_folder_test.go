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

	"engramd/internal/e2e/relaytest"
	"engramd/internal/folder"
)

// TestWatchFolder holds that sync --watch takes what an editor saves to the memory
// and what another machine writes to the folder, and ends when it is interrupted.
func TestWatchFolder(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{})
	home := t.TempDir()
	keyFile := filepath.Join(home, "agent.key")
	if err := os.WriteFile(keyFile, []byte(relaytest.Agent().Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	machine := func(name string, out io.Writer, args ...string) *Main {
		return &Main{Args: args, Dir: home, Stdin: strings.NewReader(""), Stdout: out, Stderr: out, Env: []string{
			"HOME=" + home, "ENGRAM_KEY_FILE=" + keyFile, "ENGRAM_OWNER=" + relaytest.Owner().Pub, "ENGRAM_RELAYS=" + relay.URL,
			"XDG_CACHE_HOME=" + filepath.Join(home, name), "XDG_STATE_HOME=" + filepath.Join(home, name)}}
	}
	set := func(slug, text string) {
		t.Helper()
		if code := machine("other", io.Discard, "mem", "set", slug, text).Run(t.Context()); code != exitOK {
			t.Fatalf("mem set: exit code %d", code)
		}
	}
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

	// An editor's way of saving: a new file in the old one's place; in a new folder.
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
	for lines.Scan() { // what it still says
	}
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d", code)
	}
	for file, want := range map[string]string{"ana.md": "likes coffee", "ben.md": "sails"} {
		if text, err := os.ReadFile(filepath.Join(dir, "mem", "people", file)); string(text) != want {
			t.Errorf("%s is %q, %v", file, text, err)
		}
	}
}

// TestSettle holds that changes that belong together are waited for, and not for
// ever, by a clock of the test's.
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
