package contracts_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/contracts"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/migrations"
)

// beforeOrder makes of today's tables what they were before threads were
// numbered.
const beforeOrder = `DROP TRIGGER contract_entries_forgetting; DROP TRIGGER contract_moves_forgetting; DROP TABLE contract_forgetting; DROP TABLE contract_forgotten;
	DROP TRIGGER contract_entries_more; DROP TRIGGER contract_entries_fewer; DROP TRIGGER contract_entries_changed; DROP TRIGGER contract_entries_gone;
	DROP TABLE contract_threads; DROP TABLE contract_numbers; DROP TABLE contract_moves; DROP TABLE contract_gaps;
	DELETE FROM meta WHERE key = 'parties'; ALTER TABLE deleted_ids DROP COLUMN request; ALTER TABLE deleted_addresses DROP COLUMN request;
	DROP TABLE contract_counts; DROP INDEX history_contract; DROP INDEX contract_entries_order; DROP INDEX contract_entries_private; DROP INDEX contract_entries_waiting;
	ALTER TABLE contract_entries DROP COLUMN thread; ALTER TABLE contract_entries DROP COLUMN n; ALTER TABLE contract_entries DROP COLUMN k; ALTER TABLE contract_entries DROP COLUMN withdrawn;
	ALTER TABLE contract_entries DROP COLUMN request; ALTER TABLE contract_entries ADD COLUMN expires_at INTEGER;
	CREATE INDEX contract_entries_waiting ON contract_entries(arrived_at, created_at, id) WHERE seq IS NULL AND form < 2;
	CREATE INDEX contract_entries_private ON contract_entries(author, contract, form) WHERE seq IS NULL;`

// migration is the text of a migration, by the end of its name.
func migration(t *testing.T, name string) string {
	t.Helper()
	all, err := migrations.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if strings.HasSuffix(m.Name, name) {
			return m.SQL
		}
	}
	t.Fatalf("there is no migration %s", name)
	return ""
}

// Threads of a database from before are numbered as they would have been.
func TestOldThreadsAreNumberedByArrival(t *testing.T) {
	clock := storetest.NewClock()
	path := filepath.Join(t.TempDir(), "engramd.db")
	open := func() *sqlite.Store {
		return storetest.MustOpen(t, func(o *sqlite.Options) { o.Path, o.Clock = path, clock.Now })
	}
	s := open()
	write := func(events ...*nostr.Event) {
		t.Helper()
		for _, ev := range events {
			if r := s.Put(t.Context(), ev, store.PutOptions{}); !r.Outcome.OK() {
				t.Fatal(r)
			}
			clock.Add(1e9)
		}
	}
	write(alice.State(alice, 0, "c", "", "open"), alice.Entry(alice, 1, "c", "terms"), bob.State(alice, 2, "c", "open", "accepted"),
		alice.Entry(bob, 9, "c", "one"), bob.Entry(alice, 4, "c", "two"), alice.Entry(bob, 3, "c", "three"))
	for i := range byte(2) {
		e := store.ThreadEntry{Author: bob.Pub, Other: alice.Pub, CreatedAt: 5, ID: []byte{9 - i}, Type: "note", Entry: fmt.Sprintf("mem_%012x", i), Data: []byte{1}}
		if err := s.Tell(t.Context(), store.AddPrivateEntry{Contract: "c", Entry: e, Most: 9}); err != nil {
			t.Fatal(err)
		}
		clock.Add(1e9)
	}
	write(bob.State(alice, 10, "c", "accepted", "submitted"), carol.Entry(alice, 5, "c", "a stranger's"),
		alice.Entry(bob, 5, strings.Repeat("ab", 32), "an id that reads like a key"))
	const sqlNumbers = `SELECT contract || ' ' || hex(author) || hex(other) || hex(id) || ' ' || n || ' ' || k FROM contract_entries
		UNION ALL SELECT contract || ' ' || hex(author) || hex(other) || hex(id) || ' ' || n || ' ' || status || ' ' || previous || ' ' || seq || ' ' || arrived_at FROM contract_moves
		UNION ALL SELECT (SELECT contract FROM contract_threads AS t WHERE t.thread = c.thread) || ' ' || last FROM contract_numbers AS c
		UNION ALL SELECT contract || hex(author) || hex(other) || form || type || withdrawn || ' ' || n || ' ' || published FROM contract_counts ORDER BY 1`
	want, err := storetest.OnReader(t.Context(), contracts.DB(s), sqlNumbers)
	if err != nil || len(want) < 12 {
		t.Fatal(want, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	outside(t, path, beforeOrder, migration(t, "_contract_counts.sql"), migration(t, "_contract_order.sql"), migration(t, "_contract_forgotten.sql"))
	s = open()
	got, err := storetest.OnReader(t.Context(), contracts.DB(s), sqlNumbers)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the numbers are\n%v, want\n%v (%v)", got, want, err)
	}
	wantWhole(t, s)
	next := alice.Entry(bob, 20, "c", "goes on")
	write(next)
	if lines := numbers(t, s, theirs); lines[len(lines)-1] != "8 "+next.ID[:8] {
		t.Errorf("the next one is %s", lines[len(lines)-1])
	}
}
