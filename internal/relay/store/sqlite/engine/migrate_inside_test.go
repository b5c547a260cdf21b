package engine

import (
	"log/slog"
	"path/filepath"
	"testing"

	"engramd/migrations"
)

// TestEmptyDatabaseIsMadeAtOnce: the versions that an empty file goes through are one
// transaction. What fails in the last of them leaves an empty file, which the next
// start makes a database of.
func TestEmptyDatabaseIsMadeAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engramd.db")
	if err := createFile(path); err != nil {
		t.Fatal(err)
	}
	c, err := connect(path, writerDSN(), writerPragmas(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	all, err := migrations.All()
	if err != nil {
		t.Fatal(err)
	}
	broken := append(all[:len(all):len(all)], migrations.Migration{Version: len(all) + 1, Name: "broken", SQL: "CREATE TABLE"})
	if err := c.Transaction(func() error { return applyMigrations(c, broken) }); err == nil {
		t.Fatal("a migration that is none is applied")
	}
	is := func(when string, version, least int64) {
		t.Helper()
		v, err := c.Number("PRAGMA user_version")
		if err != nil {
			t.Fatal(err)
		}
		tables, err := c.Number("SELECT count(*) FROM sqlite_schema")
		if err != nil || v != version || tables < least || version == 0 && tables > 0 {
			t.Errorf("%s: version %d with %d tables and indexes, want %d (%v)", when, v, tables, version, err)
		}
	}
	is("after a failure", 0, 0)
	var commits int
	c.db.RegisterCommitHook(func() int { commits++; return 0 })
	if err := migrate(t.Context(), c, path, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	is("at the next start", int64(len(all)), 20)
	if commits != 1 {
		t.Errorf("%d commits make a database, want 1", commits)
	}
}
