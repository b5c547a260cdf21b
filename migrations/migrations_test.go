package migrations

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestAllIsNumberedWithoutGaps(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no migrations embedded")
	}
	for i, m := range all {
		if m.Version != i+1 || m.SQL == "" {
			t.Errorf("migration %d: version %d, %d bytes", i, m.Version, len(m.SQL))
		}
	}
}

func TestLoadRefusesBadNumbering(t *testing.T) {
	for name, fsys := range map[string]fstest.MapFS{
		"gap":       {"0001_a.sql": {}, "0003_b.sql": {}},
		"repeat":    {"0001_a.sql": {}, "0001_b.sql": {}},
		"not first": {"0002_a.sql": {}},
		"no number": {"a.sql": {}},
	} {
		if _, err := load(fsys); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestStepsDivideAMigration(t *testing.T) {
	for sql, want := range map[string][]Step{
		"A;\nB;\n":                                {{SQL: "A;\nB;\n"}},
		"A;\n" + Ranges + "B\n C;\nD;\nE;\n":      {{SQL: "A;\n"}, {SQL: "B\n C", Ranged: true}, {SQL: "D;\nE;\n"}},
		Ranges + "A;\n" + Ranges + "B;\n":         {{}, {SQL: "A", Ranged: true}, {}, {SQL: "B", Ranged: true}, {}},
		"-- in ranges of nothing:\nA;\n-- B; C\n": {{SQL: "-- in ranges of nothing:\nA;\n-- B; C\n"}},
	} {
		if got := (Migration{SQL: sql}).Steps(); !slices.Equal(got, want) {
			t.Errorf("%q: %+v", sql, got)
		}
	}
}
