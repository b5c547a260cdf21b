package events_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/internal/store"
	"engramd/internal/store/sqlite"
	"engramd/internal/store/sqlite/events"
	"engramd/internal/store/sqlite/storetest"
)

var (
	alice = storetest.NewKey("alice")
	bob   = storetest.NewKey("bob")
	carol = storetest.NewKey("carol")
)

// put stores an event and fails the test unless it has the outcome.
func put(t *testing.T, s *sqlite.Store, ev *nostr.Event, want store.Outcome) store.Result {
	t.Helper()
	r := s.Put(t.Context(), ev, store.PutOptions{})
	if r.Outcome != want {
		t.Fatalf("kind %d at %d: %v (%s, %v), want %v", ev.Kind, ev.CreatedAt, r.Outcome, r.Message(), r.Err, want)
	}
	return r
}

// restore stores an event as an import does.
func restore(t *testing.T, s *sqlite.Store, ev *nostr.Event, want store.Outcome) store.Result {
	t.Helper()
	r := s.Put(t.Context(), ev, store.PutOptions{Import: true})
	if r.Outcome != want {
		t.Fatalf("import of kind %d at %d: %v (%s, %v), want %v", ev.Kind, ev.CreatedAt, r.Outcome, r.Message(), r.Err, want)
	}
	return r
}

// rows counts the rows of a table under a condition.
func rows(t *testing.T, s *sqlite.Store, from string, args ...any) int {
	t.Helper()
	out, err := events.OnReader(context.Background(), s, fmt.Sprintf("SELECT count(*) FROM "+from, args...))
	if err != nil {
		t.Fatal(err)
	}
	return int(out[0].(int64))
}

// isHead and isHistory look an event up where it may lie.
func isHead(t *testing.T, s *sqlite.Store, ev *nostr.Event) bool {
	t.Helper()
	return rows(t, s, "events WHERE id = x'%s'", ev.ID) == 1
}

func isHistory(t *testing.T, s *sqlite.Store, ev *nostr.Event) bool {
	t.Helper()
	return rows(t, s, "history WHERE id = x'%s'", ev.ID) == 1
}

// wantWhole fails the test if Check finds anything.
func wantWhole(t *testing.T, s *sqlite.Store) {
	t.Helper()
	report, err := s.Check(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		t.Errorf("check: %s: %s", p.Check, p.Detail)
	}
}

// visible lists the ids that an operator reads, newest first.
func visible(t *testing.T, s *sqlite.Store, f nostr.Filter) []string {
	t.Helper()
	page, err := s.Query(context.Background(), store.Ask{Scope: gate.Operator(), Filter: f, MaxRows: 100_000, MaxBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(page.Rows))
	for i, r := range page.Rows {
		ids[i] = fmt.Sprintf("%x", r.ID)
	}
	return ids
}
