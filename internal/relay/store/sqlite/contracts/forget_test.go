package contracts_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/niptemp"
)

// mentions is how often a key stands in a closed database file, as bytes and as
// text.
func mentions(t *testing.T, path string, k storetest.Key) int {
	t.Helper()
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		t.Fatal("the write-ahead log is not empty")
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := hex.DecodeString(k.Pub)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(file, raw) + bytes.Count(bytes.ToLower(file), []byte(k.Pub))
}

// filled opens a database, fills it and closes it.
func filled(t *testing.T, fill func(*sqlite.Store)) sqlite.Options {
	t.Helper()
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	fill(s)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantWhole(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return o
}

// business has alice and bob do all that leaves a trace in contracts: what both
// said, sealed and not, terms, a dispute, its end.
func business(t *testing.T, s *sqlite.Store) (ids []string) {
	t.Helper()
	id, salt := committed(t, alice, 1)
	terms := niptemp.Terms{Arbitrator: carol.Pub, Decider: dave.Pub, Deadline: storetest.Start.Unix() + 1_000_000}.Tags()
	put(t, s, saltedState(alice, alice, 0, id, "", "open", append(terms, salt)...), store.Stored)
	put(t, s, saltedEntry(alice, alice, 1, id, "who does it?", salt), store.Stored)
	put(t, s, saltedState(bob, alice, 2, id, "open", "accepted", terms...), store.Stored)
	for i := range int64(30) {
		for _, ev := range []*nostr.Event{alice.Entry(bob, 3+i, id, fmt.Sprint("a", i)), bob.Entry(alice, 3+i, id, fmt.Sprint("b", i))} {
			if r := s.Put(t.Context(), ev, store.PutOptions{}); !r.Outcome.OK() {
				t.Fatalf("%+v", r)
			}
		}
	}
	put(t, s, bob.State(alice, 50, id, "accepted", "submitted"), store.Replaced)
	put(t, s, alice.State(bob, 51, id, "submitted", "disputed"), store.Replaced)
	put(t, s, deciding(carol, 52, id, "disputed", "cancelled", alice, bob), store.Stored)
	ids = append(ids, id)
	for i := range byte(20) {
		offer, salt := committed(t, alice, 2+i)
		put(t, s, saltedState(alice, alice, 54, offer, "", "open", salt), store.Stored)
		put(t, s, saltedEntry(alice, alice, 55, offer, "nobody answers", salt), store.Stored)
		ids = append(ids, offer)
	}
	return ids
}

// Who has vanished, and whom nobody's words name any more, is not in the
// database but for the request and its bar: not a byte more than where nothing
// else was ever his.
func TestTheVanishedLeaveNoKey(t *testing.T) {
	requests := func(s *sqlite.Store) {
		put(t, s, alice.Vanish(1000), store.Stored)
		put(t, s, bob.Vanish(1000), store.Stored)
		put(t, s, carol.Vanish(1000), store.Stored)
	}
	bare := filled(t, requests)
	var ids []string
	o := filled(t, func(s *sqlite.Store) { ids = business(t, s); requests(s) })
	for _, k := range []storetest.Key{alice, bob} {
		if want, got := mentions(t, bare.Path, k), mentions(t, o.Path, k); got != want || want == 0 {
			t.Errorf("%s stands %d times in the database, want %d", nameOf(k.Pub), got, want)
		}
	}
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, id := range ids {
		wantRefused(t, s, dave.State(bob, 55, id, "", "open"), store.WhyTaken.Error())
		wantRefused(t, s, dave.Entry(bob, 55, id, "mine"), store.WhyTaken.Error())
	}
	if n := rows(t, s, "contract_states WHERE status = 'cancelled'"); n != 1 {
		t.Errorf("%d contracts have kept their end", n)
	}
	if n := rows(t, s, "contract_gaps"); n != 66+2*20 {
		t.Errorf("%d gaps", n)
	}
}

// outliving are the columns of contract tables that name a key though no event
// need be there.
var outliving = map[string]string{
	"contract_owners": "owner", "contract_states": "a, b, poster", "contract_steps": "a, b, author, other", "contract_threads": "a, b", "contract_terms": "poster, worker",
	"contract_cases": "poster, worker", "contract_verdicts": "poster, worker", "contract_decisions": "a, b", "contract_forgetting": "key",
}

// named are the tables that name a key.
func named(t *testing.T, s *sqlite.Store, k storetest.Key) (tables []string) {
	t.Helper()
	for table, columns := range outliving {
		if rows(t, s, "%s WHERE x'%s' IN (%s)", table, k.Pub, columns) > 0 {
			tables = append(tables, table)
		}
	}
	return tables
}

// Whoever comes back is known again, by his key, from his first word under a
// contract on.
func TestTheVanishedComeBack(t *testing.T) {
	s := storetest.MustOpen(t)
	id, salt := committed(t, alice, 1)
	put(t, s, saltedState(alice, alice, 0, id, "", "open", salt), store.Stored)
	put(t, s, alice.Vanish(10), store.Stored)
	if tables := named(t, s, alice); tables != nil {
		t.Errorf("her key is in %v", tables)
	}
	wantRefused(t, s, carol.State(alice, 11, id, "", "open"), store.WhyTaken.Error())
	put(t, s, alice.Entry(alice, 20, id, "back again"), store.Stored)
	if got := means(t, s, id, alice); got != "alice nobody open" {
		t.Errorf("it means %s", got)
	}
	put(t, s, bob.State(alice, 21, id, "open", "accepted"), store.Stored)
	if got := means(t, s, id, dave); got != "alice bob accepted" {
		t.Errorf("it means %s", got)
	}
	wantWhole(t, s)
}

// A database from before forgets those who have vanished.
func TestOldContractsForgetTheVanished(t *testing.T) {
	o := filled(t, func(s *sqlite.Store) { business(t, s) })
	outside(t, o.Path, "DROP INDEX events_author", "DROP INDEX events_address", "DROP INDEX events_kind", "DROP INDEX history_author", "DROP INDEX history_contract",
		"ALTER TABLE events DROP COLUMN reader", "ALTER TABLE history DROP COLUMN reader", "CREATE INDEX events_author ON events(author, kind)", "CREATE INDEX events_kind ON events(kind)",
		"CREATE UNIQUE INDEX events_address ON events(kind, author, d) WHERE d IS NOT NULL", "CREATE INDEX history_author ON history(pubkey, kind)",
		"CREATE INDEX history_contract ON history(kind, pubkey, d) WHERE kind IN (30090, 30091)",
		"CREATE TABLE before(name TEXT, value, created_at INTEGER, seq INTEGER, kind INTEGER)", "INSERT INTO before SELECT name, value, created_at, seq, kind FROM tags WHERE name <> 'pp'",
		"DROP TABLE tags", "ALTER TABLE before RENAME TO tags", "DROP TRIGGER contract_entries_forgetting", "DROP TRIGGER contract_moves_forgetting", "DROP TABLE contract_forgetting", "DROP TABLE contract_forgotten", "DROP TABLE rolled_back",
		"DROP TRIGGER contract_entries_gone", "ALTER TABLE contract_entries DROP COLUMN thread", "CREATE TRIGGER contract_entries_gone AFTER DELETE ON contract_entries BEGIN SELECT 1; END",
		"ALTER TABLE events DROP COLUMN sum", "ALTER TABLE history DROP COLUMN sum", "PRAGMA user_version = 21", "DELETE FROM contract_entries", "DELETE FROM contract_moves",
		fmt.Sprintf("INSERT INTO vanished(pubkey, until) VALUES (x'%s', 9999999999)", alice.Pub))
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tables := named(t, s, alice); tables != nil {
		t.Errorf("the key of one who vanished is in %v", tables)
	}
	if tables := named(t, s, bob); len(tables) < 5 {
		t.Errorf("the key of one who did not is in %v alone", tables)
	}
}

// The other party and the arbitrator read on, by the key that the other's words
// name, and the number, the state and the gaps of what has gone are there. What
// he says after that goes on in the same thread.
func TestOthersReadOnOfTheVanished(t *testing.T) {
	s := storetest.MustOpen(t)
	id := business(t, s)[0]
	put(t, s, alice.Vanish(70), store.Stored)
	if tables := named(t, s, alice); tables != nil {
		t.Errorf("her key is in %v", tables)
	}
	thread := store.Thread{Contract: id, Poster: alice.Pub, Worker: bob.Pub, Party: true, Whole: true}
	for _, reader := range []storetest.Key{bob, carol, dave} {
		if got := means(t, s, id, reader); got != "alice bob cancelled" {
			t.Errorf("to %s it means %s", nameOf(reader.Pub), got)
		}
	}
	list, n, err := s.Contracts(t.Context(), bob.Pub, "", 10, 0)
	if err != nil || n != 1 || list[0].Poster != alice.Pub || list[0].Worker != bob.Pub {
		t.Errorf("%+v, %v", list, err)
	}
	entries, total, err := s.ThreadPage(t.Context(), thread, 100, 0, 1<<20)
	if err != nil || total != 30 || len(entries) != 30 || entries[29].N != 63 {
		t.Errorf("%d entries of %d, %v", len(entries), total, err)
	}
	gaps := map[string]int{}
	err = s.ThreadOrder(t.Context(), thread, func(o store.OrderItem) error {
		if o.Gap != nil {
			gaps[o.Gap.Role+" "+o.Gap.Type]++
		}
		return nil
	})
	if err != nil || gaps["poster message"] != 31 || gaps["poster state"] != 2 || len(gaps) != 2 {
		t.Errorf("%v, %v", gaps, err)
	}
	p := list[0]
	moves, n, err := s.ContractMoves(t.Context(), &p, true, 10, 0, 1<<20)
	if err != nil || n != 3 || len(moves) != 3 {
		t.Errorf("%d moves of %d, %v", len(moves), n, err)
	}
	if d, err := s.ContractDecision(t.Context(), &p); err != nil || d == nil || d.Key != carol.Pub {
		t.Errorf("%+v, %v", d, err)
	}
	if _, agreed, err := s.TermsOf(t.Context(), &p); err != nil || agreed.Arbitrator != carol.Pub {
		t.Errorf("%+v, %v", agreed, err)
	}
	cases, err := s.Cases(t.Context(), []string{carol.Pub}, []string{id})
	if err != nil || len(cases) != 1 || cases[0].Poster != alice.Pub || cases[0].Worker != bob.Pub {
		t.Errorf("%+v, %v", cases, err)
	}
	// Late, but from before the end.
	late := bob.Entry(alice, 49, id, "found in the outbox")
	restore(t, s, late, store.Replaced)
	if entries, total, err = s.ThreadPage(t.Context(), thread, 100, 0, 1<<20); err != nil || total != 31 || entries[30].N != 67 {
		t.Errorf("%d entries, %v", total, err)
	}
	if tables := named(t, s, alice); tables != nil {
		t.Errorf("her key is in %v again", tables)
	}
	wantWhole(t, s)
}

// The other party moves a contract on after one has vanished: the states go on
// by the hash.
func TestOthersMoveOnAfterAVanish(t *testing.T) {
	s := storetest.MustOpen(t)
	id, salt := committed(t, alice, 1)
	put(t, s, saltedState(alice, bob, 0, id, "", "open", salt), store.Stored)
	put(t, s, alice.Vanish(10), store.Stored)
	put(t, s, bob.State(alice, 11, id, "open", "accepted"), store.Stored)
	put(t, s, bob.Entry(alice, 12, id, "I have begun"), store.Stored)
	wantRefused(t, s, bob.State(alice, 13, id, "submitted", "disputed"), "invalid: previous_status")
	put(t, s, bob.State(alice, 14, id, "accepted", "submitted"), store.Replaced)
	if got := means(t, s, id, bob); got != "alice bob submitted" {
		t.Errorf("it means %s", got)
	}
	if tables := named(t, s, alice); tables != nil {
		t.Errorf("her key is in %v", tables)
	}
	put(t, s, alice.State(bob, 20, id, "submitted", "completed"), store.Stored)
	if got := means(t, s, id, dave); got != "alice bob completed" {
		t.Errorf("it means %s", got)
	}
	wantWhole(t, s)
}
