package events_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/storetest"
)

// everything is what an export with history gives.
func everything(t *testing.T, s *sqlite.Store) []byte {
	t.Helper()
	var out []byte
	err := s.Export(t.Context(), gate.Operator(), true, nil, func(json []byte) error {
		out = append(append(out, json...), '\n')
		return nil
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("exported %d bytes, %v", len(out), err)
	}
	return out
}

// TestOlderDatabasesAreRead: of every version, a database is checked, exported
// and backed up as it would be after an upgrade, and nothing of it changes.
func TestOlderDatabasesAreRead(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	latest, err := engine.Latest()
	if err != nil {
		t.Fatal(err)
	}
	upgraded := storetest.Options(t)
	upgraded.Path = ofVersion(t, int(latest))
	s, err := sqlite.Open(t.Context(), upgraded)
	if err != nil {
		t.Fatal(err)
	}
	want := everything(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for v := 1; v < int(latest); v++ {
		t.Run(fmt.Sprint("version ", v), func(t *testing.T) {
			o, scratch := storetest.Options(t), t.TempDir()
			o.Path, o.ReadOnly, o.Scratch = ofVersion(t, v), true, scratch
			before := readFile(t, o.Path)
			s, err := sqlite.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if n, older := s.Older(); !older || n != int64(v) {
				t.Errorf("it says version %d, %t", n, older)
			}
			wantWhole(t, s)
			if got := everything(t, s); !bytes.Equal(got, want) {
				t.Errorf("exported %d bytes, want %d, or other ones", len(got), len(want))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			wantEmpty(t, scratch)

			o.Scratch, o.AsIs = "", true
			if s, err = sqlite.Open(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			copied := filepath.Join(t.TempDir(), "copy.db")
			if err := errors.Join(s.Backup(t.Context(), copied), s.Close()); err != nil {
				t.Fatal(err)
			}
			if n := version(t, copied); n != int64(v) {
				t.Errorf("the backup is of version %d", n)
			}
			if !bytes.Equal(before, readFile(t, o.Path)) {
				t.Error("the database was changed")
			}
		})
	}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v, %v", dir, left, err)
	}
}

// TestOlderDatabaseThatCannotBeRead leaves nothing behind, whatever is wrong.
func TestOlderDatabaseThatCannotBeRead(t *testing.T) {
	o, scratch := storetest.Options(t), t.TempDir()
	o.Path, o.ReadOnly, o.Scratch = ofVersion(t, 1), true, scratch
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqlite.Open(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	wantEmpty(t, scratch)

	c := database(t, o.Path)
	run(t, c, "CREATE TABLE relay_keys(x)") // the migration that makes it fails
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "bring a copy up to date: migration") {
		t.Errorf("a migration that fails: %v", err)
	}
	wantEmpty(t, scratch)

	o.Scratch = filepath.Join(scratch, "nothing")
	if _, err := sqlite.Open(t.Context(), o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder for the copy: %v", err)
	}
}

// TestSweepScratch: what a killed process left goes, what another one uses
// stays.
func TestSweepScratch(t *testing.T) {
	dir := t.TempDir()
	used, left := filepath.Join(dir, "older-1"), filepath.Join(dir, "older-2")
	for _, path := range []string{used, left} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := engine.Lock(used)
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.SweepScratch(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what nobody uses is still there: %v", err)
	}
	if _, err := os.Stat(used); err != nil {
		t.Errorf("what is in use is gone: %v", err)
	}
	if err := errors.Join(lock.Unlock(), engine.SweepScratch(dir)); err != nil {
		t.Fatal(err)
	}
	wantEmpty(t, dir)
}
