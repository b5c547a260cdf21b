package events_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

func TestCheckFindsWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ harm, check string }{
		"class":           {"UPDATE events SET class = 0 WHERE kind = 30174", "class"},
		"readers":         {"UPDATE events SET readers = NULL WHERE kind = 30174", "class"},
		"json":            {"UPDATE events SET json = CAST(replace(json, 'hello', 'hullo') AS BLOB) WHERE kind = 1", "json"},
		"no json":         {"UPDATE events SET json = x'7b7d' WHERE kind = 1", "json"},
		"column":          {"UPDATE events SET created_at = created_at + 1 WHERE kind = 1", "json"},
		"expiry":          {"UPDATE events SET expires_at = 5 WHERE kind = 1", "json"},
		"missing tag":     {"DELETE FROM tags WHERE name = 't'", "tags"},
		"tag too many":    {"INSERT INTO tags(name, value, class, created_at, seq, kind) VALUES ('t', 'y', 0, 1, 1, 1)", "tags"},
		"head is older":   {"UPDATE history SET created_at = created_at + 1000", "heads"},
		"both":            {"UPDATE history SET json = (SELECT json FROM events WHERE kind = 1)", "heads"},
		"contract states": {"UPDATE contract_states SET poster = x'00'", "states"},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.MustOpen(t)
			put(t, s, alice.Note(0, "hello", []string{"t", "x"}), store.Stored)
			put(t, s, alice.Engram(bob, 0, "mem/a"), store.Stored)
			put(t, s, alice.Engram(bob, 1, "mem/a"), store.Replaced)
			put(t, s, alice.State(bob, 0, "c", "", "open"), store.Stored)
			wantWhole(t, s)
			if _, err := events.OnWriter(s, c.harm); err != nil {
				t.Fatal(err)
			}
			report, err := s.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if report.OK() || report.Events != 3 || report.History != 1 {
				t.Fatalf("%+v", report)
			}
			found := false
			for _, p := range report.Problems {
				found = found || p.Check == c.check && p.Advice != ""
				for _, secret := range []string{alice.Pub, bob.Pub, "hello"} {
					if strings.Contains(p.Detail+p.Advice, secret) {
						t.Errorf("the report names %s", secret)
					}
				}
			}
			if !found {
				t.Errorf("want a problem of %q, got %+v", c.check, report.Problems)
			}
		})
	}
}

// What check advises about classes mends them: a start where the table of kinds
// or the rules changed, and else, because a start classes nothing anew then, an
// export into a new folder.
func TestCheckAdvisesWhatMendsClasses(t *testing.T) {
	advice := func(s *sqlite.Store) (out []string) {
		t.Helper()
		report, err := s.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range report.Problems {
			if p.Check != "class" {
				t.Errorf("%+v", p)
			}
			if !slices.Contains(out, p.Advice) {
				out = append(out, p.Advice)
			}
		}
		return out
	}
	o := storetest.Options(t)
	open := func() *sqlite.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	put(t, s, alice.Fake(30023, 0, "x", []string{"d", "x"}, []string{"p", bob.Pub}), store.Stored)
	engram := alice.Engram(bob, 0, "mem/a")
	put(t, s, engram, store.Stored)
	wantClosed(t, s)

	o.Table, o.ReadOnly = storetest.MustTable(t, gate.Options{Rules: []string{"30023 author,p"}}), true
	s = open()
	if got := advice(s); len(got) != 1 || !strings.Contains(got[0], "start engramd serve") {
		t.Errorf("other rules: %q", got)
	}
	wantClosed(t, s)
	o.ReadOnly = false
	s = open()
	if got := advice(s); got != nil {
		t.Errorf("after a start: %q", got)
	}

	if _, err := events.OnWriter(s, "UPDATE events SET class = 0, readers = NULL WHERE kind = 30174"); err != nil {
		t.Fatal(err)
	}
	wantClosed(t, s)
	s = open()
	if got := advice(s); len(got) != 1 || !strings.Contains(got[0], "export with --history, import") {
		t.Errorf("damage, and a start: %q", got)
	}
	from := s
	o.Path = filepath.Join(t.TempDir(), "new.db")
	s = open()
	err := from.Export(t.Context(), gate.Operator(), true, nil, func(json []byte) error {
		var ev nostr.Event
		if err := ev.UnmarshalJSON(json); err != nil {
			return err
		}
		put(t, s, &ev, store.Stored)
		return nil
	})
	var damaged *store.DamagedError
	if !errors.As(err, &damaged) || len(damaged.Events) != 1 || damaged.Events[0].ID != engram.ID {
		t.Fatalf("export: %v, want the engram named", err)
	}
	put(t, s, engram, store.Stored)
	if got := advice(s); got != nil {
		t.Errorf("after an import: %q", got)
	}
	wantClosed(t, from)
	wantClosed(t, s)
}

func wantClosed(t *testing.T, s *sqlite.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCheckFindsADamagedIndex(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, alice.Note(0, "x"), store.Stored)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// An index that says something else than its table: its definition is
	// changed behind SQLite's back.
	outside(t, o.Path, "PRAGMA writable_schema = ON",
		"UPDATE sqlite_schema SET sql = replace(sql, 'events(id)', 'events(pubkey)') WHERE name = 'events_id'")
	o.ReadOnly = true
	s, err = sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	report, err := s.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.OK() || report.Problems[0].Check != "integrity" {
		t.Errorf("%+v", report)
	}
}
