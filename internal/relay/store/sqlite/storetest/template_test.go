package storetest_test

import (
	"fmt"
	"testing"

	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestTemplateIsWhatOpenMakes compares a store over the template with one that
// migrated: what the tables are, what is in them, and the file's settings.
func TestTemplateIsWhatOpenMakes(t *testing.T) {
	describe := func(path string) (out []engine.Value, parties engine.Value) {
		t.Helper()
		db := engine.New(engine.Options{Path: path, ReadOnly: true})
		if err := db.Open(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		ask := func(text string) []engine.Value {
			t.Helper()
			rows, err := storetest.OnReader(t.Context(), db, text)
			if err != nil {
				t.Fatal(err)
			}
			return rows
		}
		out = ask("SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY rowid")
		for _, name := range ask("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid") {
			out = append(out, fmt.Sprint(name, ask(fmt.Sprintf("SELECT count(*) FROM %q", name))))
		}
		out = append(out, ask("SELECT key || ' ' || hex(value) FROM meta WHERE key <> 'parties' ORDER BY key")...)
		for _, setting := range []string{"application_id", "user_version", "page_size", "auto_vacuum", "encoding", "journal_mode"} {
			out = append(out, fmt.Sprint(setting, ask("PRAGMA "+setting)))
		}
		return out, ask("SELECT hex(value) FROM meta WHERE key = 'parties'")[0]
	}
	opened := func(o sqlite.Options) string {
		t.Helper()
		s, err := sqlite.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return o.Path
	}
	fresh, o := opened(storetest.Options(t)), storetest.Options(t)
	storetest.New(t, o.Path)
	copied := opened(o)

	want, ours := describe(fresh)
	have, theirs := describe(copied)
	if len(have) != len(want) {
		t.Fatalf("%d lines, want %d", len(have), len(want))
	}
	for i := range want {
		if have[i] != want[i] {
			t.Errorf("have %v\nwant %v", have[i], want[i])
		}
	}
	second := storetest.Options(t)
	storetest.New(t, second.Path)
	if _, other := describe(second.Path); ours == theirs || theirs == other {
		t.Error("two databases have one key for the parties' names")
	}
}
