package storetest

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/migrations"
)

// Put stores an event and fails the test unless it has the outcome.
func Put(t *testing.T, s *sqlite.Store, ev *nostr.Event, want store.Outcome) store.Result {
	t.Helper()
	r := s.Put(t.Context(), ev, store.PutOptions{})
	if r.Outcome != want {
		t.Fatalf("kind %d at %d: %v (%s, %v), want %v", ev.Kind, ev.CreatedAt, r.Outcome, r.Message(), r.Err, want)
	}
	return r
}

// Restore stores an event as an import does.
func Restore(t *testing.T, s *sqlite.Store, ev *nostr.Event, want store.Outcome) store.Result {
	t.Helper()
	r := s.Put(t.Context(), ev, store.PutOptions{Import: true})
	if r.Outcome != want {
		t.Fatalf("import of kind %d at %d: %v (%s, %v), want %v", ev.Kind, ev.CreatedAt, r.Outcome, r.Message(), r.Err, want)
	}
	return r
}

// WantRefused stores an event and checks what the refusal begins with.
func WantRefused(t *testing.T, s *sqlite.Store, ev *nostr.Event, prefix string) {
	t.Helper()
	if r := Put(t, s, ev, store.Refused); !strings.HasPrefix(r.Message(), prefix) {
		t.Errorf("refused with %q, want %q…", r.Message(), prefix)
	}
}

// WantWhole fails the test if Check finds anything.
func WantWhole(t *testing.T, s *sqlite.Store) {
	t.Helper()
	report, err := s.Check(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		t.Errorf("check: %s: %s", p.Check, p.Detail)
	}
}

// Visible lists the ids that an operator reads, newest first.
func Visible(t *testing.T, s *sqlite.Store, f nostr.Filter) []string {
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

// Outside runs statements on a database file with a connection that is not the
// store's.
func Outside(t *testing.T, path string, statements ...string) {
	t.Helper()
	c, err := (&sqlite3.SQLiteDriver{}).Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, text := range statements {
		if _, err := c.(driver.Execer).Exec(text, nil); err != nil { //nolint:staticcheck // the driver's own interface
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// OfVersion writes the database of testdata/stores/v1, brought up to a version,
// into a new folder. The test runs in a folder beside storetest.
func OfVersion(t *testing.T, version int) string {
	t.Helper()
	all, err := migrations.All()
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile("../../../../../testdata/stores/v1/engramd.db")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "engramd.db")
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	var statements []string
	for _, m := range all[1:version] {
		for _, step := range m.Steps() {
			statements = append(statements, strings.NewReplacer("?1", "0", "?2", "1000000").Replace(step.SQL))
		}
		statements = append(statements, fmt.Sprintf("PRAGMA user_version=%d", m.Version))
	}
	Outside(t, path, statements...)
	return path
}

// Dispute is a contract in which both have spoken.
func Dispute(t *testing.T, s *sqlite.Store) (moves, said []*nostr.Event) {
	t.Helper()
	a, b := NewKey("alice"), NewKey("bob")
	moves = []*nostr.Event{a.State(b, 0, "c", "", "open"), b.State(a, 1, "c", "open", "accepted"), b.State(a, 3, "c", "accepted", "submitted"),
		a.State(b, 5, "c", "submitted", "disputed")}
	said = []*nostr.Event{a.Entry(b, 2, "c", "terms"), b.Entry(a, 2, "c", "I agree to refund if late"), b.Entry(a, 4, "c", "bad work")}
	for _, ev := range []*nostr.Event{moves[0], moves[1], said[0], said[1], moves[2], said[2], moves[3]} {
		if r := s.Put(t.Context(), ev, store.PutOptions{}); !r.Outcome.OK() {
			t.Fatal(r)
		}
	}
	return moves, said
}

// ContractEvent is a contract event at a time.
func ContractEvent(k Key, kind int, id, to string, at int64, content string, more ...nostr.Tag) *nostr.Event {
	ev := &nostr.Event{
		Kind: kind, CreatedAt: nostr.Timestamp(at), Content: content,
		Tags: append(nostr.Tags{{"d", id}, {"p", to}}, more...),
	}
	if err := ev.Sign(k.Secret); err != nil {
		panic(err)
	}
	return ev
}

// EntryWith is an entry with any text, in a contract that is open.
func EntryWith(t *testing.T, s *sqlite.Store, from, to Key, contract, text string) {
	t.Helper()
	content, err := json.Marshal(map[string]string{"type": "message", "content": text})
	if err != nil {
		t.Fatal(err)
	}
	Put(t, s, from.State(to, 0, contract, "", "open"), store.Stored)
	Put(t, s, from.Fake(30090, 1, string(content), nostr.Tag{"d", contract}, nostr.Tag{"p", to.Pub}, nostr.Tag{"t", "message"}), store.Stored)
}

// Pages reads an answer to its end.
func Pages(t *testing.T, s *sqlite.Store, ask store.Ask) (rows []store.Row) {
	t.Helper()
	for {
		page, err := s.Query(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, page.Rows...)
		if !page.More {
			return rows
		}
		last := page.Rows[len(page.Rows)-1]
		ask.After = &store.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}

// MustSearch opens a store that has a full-text index, or skips the test.
func MustSearch(t *testing.T, change ...func(*sqlite.Options)) *sqlite.Store {
	t.Helper()
	s := MustOpen(t, change...)
	if !s.SearchEnabled() {
		t.Skip("built without full-text search: TestSearchWithoutFTS5 takes over")
	}
	return s
}

// Prose is n bytes of words, different ones for each i.
func Prose(i, n int) string {
	words := strings.Fields("agent memory relay engram contract note owner poster worker signed stored newer older head " +
		"history search filter reader writer commit batch index page address slug pair scope gate rule session")
	var b strings.Builder
	for x := uint32(i)*2654435761 + 1; b.Len() < n; x = x*1664525 + 1013904223 {
		fmt.Fprintf(&b, "%s%d ", words[x>>16%uint32(len(words))], x>>8%1000)
	}
	return b.String()[:n]
}
