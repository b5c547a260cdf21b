package events_test

import (
	"database/sql/driver"
	"os"
	"path/filepath"
	"testing"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// "OK true" means durable only on a connection with these pragmas, so they are
// read from the very one that writes.
func TestPragmasOfTheLiveWriter(t *testing.T) {
	s := storetest.MustOpen(t)
	for pragma, want := range map[string]driver.Value{
		"journal_mode": "wal", "synchronous": int64(2), "secure_delete": int64(1), "query_only": int64(0),
		"page_size": int64(8192), "application_id": int64(0x456e4772), "foreign_keys": int64(0), "temp_store": int64(2),
	} {
		got, err := events.OnWriter(s, "PRAGMA "+pragma)
		if err != nil {
			t.Fatal(err)
		}
		if got[0] != want {
			t.Errorf("%s = %v, want %v", pragma, got[0], want)
		}
	}
}

func TestReadersCannotWrite(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Readers = 2 })
	for range 4 {
		got, err := events.OnReader(t.Context(), s, "PRAGMA query_only")
		if err != nil || got[0] != int64(1) {
			t.Errorf("query_only = %v, %v", got, err)
		}
		if _, err := events.OnReader(t.Context(), s, "DELETE FROM events"); err == nil {
			t.Error("a reader deleted")
		}
	}
}

func TestFilesAreTheirOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	if err := engine.PrepareDir(dir); err != nil {
		t.Fatal(err)
	}
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Path = engine.File(dir) })
	put(t, s, alice.Note(0, "x"), store.Stored)
	for name, want := range map[string]os.FileMode{
		"": 0o700, "engramd.db": 0o600, "engramd.db-wal": 0o600, "engramd.db-shm": 0o600,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%q: mode %o, want %o", name, got, want)
		}
	}
	// A folder and a file that are open to others are restricted.
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := engine.PrepareDir(dir); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("folder mode %o", info.Mode().Perm())
	}
}

func TestDataFolderMustBeAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if err := engine.PrepareDir(dir); err == nil {
			t.Errorf("%s was accepted", dir)
		}
	}
}

func TestSizesAreReported(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.Note(0, "x"), store.Stored)
	if db, wal := s.Sizes(); db == 0 || wal == 0 {
		t.Errorf("database %d, log %d bytes", db, wal)
	}
}
