package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/storetest"
)

// victim names the database that the test's own program reads until a page is gone.
const victim = "ENGRAMD_TEST_VICTIM"

// TestUnreadPage: a process that ends because a page cannot be read leaves a mark, and
// the next one reads the file without mapping it: the read fails, and nothing else.
func TestUnreadPage(t *testing.T) {
	if path := os.Getenv(victim); path != "" {
		db := engine.New(engine.Options{Path: path, ReadOnly: true})
		err := errors.Join(db.Open(t.Context(), nil), cutWhileRead(t, db, path))
		fmt.Println("it went on:", err)
		return
	}
	var path string
	s := storetest.MustOpen(t, func(o *sqlite.Options) { path = o.Path })
	for i := range int64(2000) {
		put(t, s, alice.Fake(1, i, strings.Repeat("text ", 100)), store.Stored)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	child := exec.Command(os.Args[0], "-test.run=^TestUnreadPage$")
	child.Env, child.Stderr = append(os.Environ(), victim+"="+path), &said
	out, err := child.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGBUS {
		t.Fatalf("it ended with %v\n%s", err, out)
	}
	if !strings.Contains(said.String(), "a page of "+path+" could not be read (SIGBUS)") {
		t.Errorf("it said %q", said.String())
	}
	if _, err := os.Stat(engine.Unread(path)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	db := engine.New(engine.Options{Path: path, ReadOnly: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err := db.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := cutWhileRead(t, db, path); err == nil {
		t.Error("the whole file was read, half of which is gone")
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	backup := path + ".backup"
	if err := os.WriteFile(backup, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Place(engine.Options{Path: path, Mark: path + ".mark"}, backup, "aside", "test"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(engine.Unread(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the mark stays beside a database that was put in its place: %v", err)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, path) {
		t.Errorf("the log: %s", text)
	}
}

// cutWhileRead takes the end of the file away in the middle of a read.
func cutWhileRead(t *testing.T, db *engine.DB, path string) error {
	cut := false
	return db.Read(t.Context(), engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		return c.Query(ctx, "SELECT json FROM events ORDER BY seq", nil, func(engine.Row) error {
			if cut {
				return nil
			}
			cut = true
			return os.Truncate(path, 128<<10)
		})
	})
}
