package localcopy

import (
	"testing"

	"engramd/internal/memory/state/sealedfile"
)

// TestCopyOfBefore: a copy of the version that kept texts alone stays. What a relay shows
// is asked for again, and can be sent again then; of what none shows the text stays, told
// as before.
func TestCopyOfBefore(t *testing.T) {
	a, dir := newAuthor(t, "agent", "owner"), t.TempDir()
	m := open(t, a.Pair, Options{Dir: dir})
	one, two := a.write("mem/a", "one", 100), a.write("mem/b", "two", 100)
	put(t, m, near, one, two, a.remove("mem/gone", 100))
	path := m.file.Path()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	asBefore(t, a.Pair, path)

	m = open(t, a.Pair, Options{Dir: dir, Warn: func(line string) { t.Error(line) }})
	if got := shown(t, m); got != "mem/a = one\nmem/b = two\nmem/gone †" {
		t.Fatalf("%q", got)
	}
	lose(t, m, near, two)
	bare, err := m.Bare(t.Context(), near)
	if err != nil || len(bare) != 2 {
		t.Errorf("%d are asked for again, %v", len(bare), err)
	}
	put(t, m, near, one)
	lose(t, m, near, one)
	behind, err := behindIn(t.Context(), m)
	if err != nil || len(behind) != 2 {
		t.Fatal(behind, err)
	}
	for _, l := range behind {
		if again := l.ID == one.ID; again != (l.Event != nil) || l.Shown != ShownNone {
			t.Errorf("%+v", l)
		}
	}
	if got := shown(t, m); got != "mem/a = one\nmem/b = two\nmem/gone †" {
		t.Errorf("%q", got)
	}
}

// asBefore makes of a copy one that has the first two steps of the schema.
func asBefore(t *testing.T, p Pair, path string) {
	t.Helper()
	keys, err := keysOf(p)
	if err != nil {
		t.Fatal(err)
	}
	old, err := sealedfile.Open(t.Context(), path, keys.file, sealedfile.Options{Application: application, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	err = old.Write(t.Context(), func(tx *sealedfile.Tx) error {
		for _, sql := range []string{"DROP TABLE raws", "DROP INDEX places_behind", "ALTER TABLE places DROP COLUMN behind", "ALTER TABLE counter DROP COLUMN lacking", "PRAGMA user_version = 2"} {
			tx.Exec(sql)
		}
		return tx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}
