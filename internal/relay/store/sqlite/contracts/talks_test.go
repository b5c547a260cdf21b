package contracts_test

import (
	"path/filepath"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// talksOf lists the contracts of a key of which only entries are known.
func talksOf(t *testing.T, s *sqlite.Store, k storetest.Key) (ids []string) {
	t.Helper()
	all, total, err := s.ContractTalks(t.Context(), k.Pub, 100, 0)
	if err != nil || total != len(all) {
		t.Fatalf("%d of %d, %v", len(all), total, err)
	}
	for _, p := range all {
		one, err := s.ContractTalk(t.Context(), p.Contract, k.Pub)
		if err != nil || one == nil || *one != p {
			t.Errorf("%s: listed as %+v, found as %+v (%v)", p.Contract, p, one, err)
		}
		other := p.Worker
		if other == "" || other == k.Pub {
			other = p.Poster
		}
		for name, key := range map[string]string{"alice": alice.Pub, "bob": bob.Pub, "carol": carol.Pub} {
			if other == key {
				p.Contract += " with " + name
			}
		}
		ids = append(ids, p.Contract)
	}
	return ids
}

func wantTalks(t *testing.T, s *sqlite.Store, k storetest.Key, want ...string) {
	t.Helper()
	got := talksOf(t, s, k)
	if len(got) != len(want) {
		t.Fatalf("talks %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("talks %q, want %q", got, want)
		}
	}
}

// TestContractTalksFollowEvents: a talk is there from its first entry until a
// state of the contract is known or its last entry is gone; what is withdrawn
// is not.
func TestContractTalksFollowEvents(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	at := clock.Now().Unix()
	put(t, s, contractEntry(alice, "one", alice.Pub, at-9, "to whom it may concern"), store.Stored)
	wantTalks(t, s, alice, "one with alice")
	put(t, s, contractEntry(alice, "one", bob.Pub, at-8, "to Bob"), store.Replaced)
	heard := contractEntry(carol, "one", alice.Pub, at-8, "me too")
	put(t, s, heard, store.Stored)
	put(t, s, contractEntry(bob, "two", alice.Pub, at-7, "hello"), store.Stored)
	wantTalks(t, s, alice, "two with bob", "one with bob")
	wantTalks(t, s, bob, "two with alice", "one with alice")
	wantTalks(t, s, carol, "one with alice")
	wantWhole(t, s)

	put(t, s, contractEvent(carol, 5, "x", alice.Pub, at, "", nostr.Tag{"e", heard.ID}), store.Stored)
	wantTalks(t, s, carol, "one with alice")
	wantWhole(t, s)
	put(t, s, contractEvent(carol, 62, "x", alice.Pub, at, "", nostr.Tag{"relay", "ALL_RELAYS"}), store.Stored)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantTalks(t, s, carol)
	put(t, s, contractOpen(bob, "two", bob.Pub, at-6), store.Stored)
	put(t, s, contractEntry(alice, "two", bob.Pub, at-5, "hello"), store.Stored)
	wantTalks(t, s, alice, "one with bob")
	wantWhole(t, s)
	for _, k := range []storetest.Key{alice, bob} {
		put(t, s, contractEvent(k, 62, "x", bob.Pub, at, "", nostr.Tag{"relay", "ALL_RELAYS"}), store.Stored)
	}
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantWhole(t, s)
	if n := rows(t, s, "contract_talks"); n != 0 {
		t.Errorf("%d talks outlive their entries", n)
	}
}

// TestTalksOfAnOldDatabase: what an older version kept of entries without a
// state is found after the migration as if it had come now.
func TestTalksOfAnOldDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Path = path })
	at := storetest.Start.Unix()
	put(t, s, contractEntry(alice, "one", alice.Pub, at-9, "to whom it may concern"), store.Stored)
	put(t, s, contractEntry(alice, "one", bob.Pub, at-8, "to Bob"), store.Replaced)
	put(t, s, contractEntry(bob, "two", alice.Pub, at-7, "hello"), store.Stored)
	put(t, s, contractOpen(bob, "three", alice.Pub, at-7), store.Stored)
	put(t, s, contractEntry(bob, "three", alice.Pub, at-6, "with a state"), store.Stored)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	outside(t, path, "DROP TRIGGER contract_talks_begin", "DROP TRIGGER contract_talks_known", "DROP TRIGGER contract_talks_end", "DROP TABLE contract_talks",
		migration(t, "_contract_talks.sql"))
	s = storetest.MustOpen(t, func(o *sqlite.Options) { o.Path = path })
	wantTalks(t, s, alice, "two with bob", "one with bob")
	wantTalks(t, s, bob, "two with alice", "one with alice")
	wantWhole(t, s)
}
