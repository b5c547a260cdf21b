package events_test

import (
	"encoding/hex"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// copied puts what a followed relay brings and wants an outcome.
func copied(t *testing.T, s *sqlite.Store, past bool, want store.Outcome, evs ...*nostr.Event) {
	t.Helper()
	for _, ev := range evs {
		if got := s.Put(t.Context(), ev, store.PutOptions{Replica: true, Past: past}); got.Outcome != want {
			t.Fatalf("kind %d of %d, past %v: %v %q, want %v", ev.Kind, ev.CreatedAt, past, got.Outcome, got.Message(), want)
		}
	}
}

// heldAs wants the head of an address, nil for none, and its past in any order.
func heldAs(t *testing.T, s *sqlite.Store, head *nostr.Event, past ...*nostr.Event) {
	t.Helper()
	about := head
	if about == nil {
		about = past[0]
	}
	page, err := s.Query(t.Context(), store.Ask{Scope: gate.Operator(), Filter: nostr.Filter{Kinds: []int{about.Kind}, Authors: []string{about.PubKey}, Tags: nostr.TagMap{"d": {about.Tags.GetD()}}}})
	if err != nil {
		t.Fatal(err)
	}
	if head == nil && len(page.Rows) != 0 || head != nil && (len(page.Rows) != 1 || hex.EncodeToString(page.Rows[0].ID[:]) != head.ID) {
		t.Fatalf("%d heads, want %v", len(page.Rows), head)
	}
	for _, ev := range past {
		if !isHistory(t, s, ev) {
			t.Errorf("the version of %d is no history", ev.CreatedAt)
		}
	}
}

// TestCopiesInAnyOrder: whatever order heads and versions come in, the head is
// the head, and all else is its history.
func TestCopiesInAnyOrder(t *testing.T) {
	v := []*nostr.Event{alice.Engram(bob, 1, "mem/a"), alice.Engram(bob, 2, "mem/a"), alice.Engram(bob, 3, "mem/a")}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {1, 0, 2}} {
		s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Versions = 100 })
		for _, i := range order {
			s.Put(t.Context(), v[i], store.PutOptions{Replica: true, Past: i < 2})
		}
		heldAs(t, s, v[2], v[0], v[1])
		copied(t, s, true, store.Duplicate, v[:2]...)
		heldAs(t, s, v[2], v[0], v[1])
	}
}

// TestCopyOfWhatIsNotHeadAnyMore: what superseded it is gone where it comes
// from, so that nobody is head, here or there, until somebody writes again.
func TestCopyOfWhatIsNotHeadAnyMore(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Versions = 100 })
	v := []*nostr.Event{alice.Engram(bob, 1, "mem/a"), alice.Engram(bob, 2, "mem/a"), alice.Engram(bob, 3, "mem/a"), alice.Engram(bob, 4, "mem/a")}
	copied(t, s, false, store.Stored, v[0])
	copied(t, s, false, store.Stored, alice.Sign(5, 5, "", nostr.Tag{"e", v[2].ID}))
	copied(t, s, true, store.Replaced, v[1])
	heldAs(t, s, nil, v[0], v[1])
	copied(t, s, false, store.Deleted, v[2])
	copied(t, s, false, store.Stored, v[3])
	heldAs(t, s, v[3], v[0], v[1])
	copied(t, s, true, store.Replaced, v[3]) // the head itself
	heldAs(t, s, nil, v[0], v[1], v[3])
	copied(t, s, true, store.Duplicate, v[:2]...)
}

// TestSourceAloneSupersedesNothing: a source that calls a head superseded and
// shows nothing its author signed about that is not believed, whatever else the
// author deleted.
func TestSourceAloneSupersedesNothing(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Versions = 100 })
	v := []*nostr.Event{alice.Engram(bob, 2, "mem/a"), alice.Engram(bob, 3, "mem/a"), alice.Engram(bob, 4, "mem/a")}
	note, held := alice.Sign(1, 2, "note"), bob.Sign(1, 2, "his")
	copied(t, s, false, store.Stored, v[1], note, held)
	copied(t, s, true, store.Duplicate, v[1])
	copied(t, s, false, store.Stored,
		alice.Sign(5, 5, "", nostr.Tag{"e", note.ID}),                         // of another class
		alice.Sign(5, 5, "", nostr.Tag{"e", held.ID}),                         // held, and not hers
		alice.Sign(5, 2, "", nostr.Tag{"e", alice.Sign(1, 1, "x").ID}),        // before the head
		bob.Sign(5, 5, "", nostr.Tag{"e", v[2].ID}),                           // not by its author
		alice.Sign(5, 5, "", nostr.Tag{"a", "30174:" + alice.Pub + ":mem/b"})) // another address
	copied(t, s, true, store.Duplicate, v[1])
	heldAs(t, s, v[1])
	copied(t, s, true, store.Stored, v[0])
	heldAs(t, s, v[1], v[0])
	copied(t, s, true, store.Replaced, v[2]) // the newest that is known
	heldAs(t, s, v[2], v[0], v[1])
	copied(t, s, false, store.Stored, alice.Sign(5, 6, "", nostr.Tag{"e", alice.Engram(bob, 5, "mem/a").ID}))
	copied(t, s, true, store.Replaced, v[2])
	heldAs(t, s, nil, v...)
}

// TestCopyOfALateVersion: one that the other relay still has for its head is
// history here, where a newer one is.
func TestCopyOfALateVersion(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Versions = 1 })
	v := []*nostr.Event{alice.Engram(bob, 1, "mem/a"), alice.Engram(bob, 2, "mem/a"), alice.Engram(bob, 3, "mem/a")}
	copied(t, s, false, store.Stored, v[2], v[1])
	heldAs(t, s, v[2], v[1])
	copied(t, s, false, store.Stored, v[0])
	if isHistory(t, s, v[0]) || !isHistory(t, s, v[1]) {
		t.Error("history.versions = 1 does not keep the newest one alone")
	}
	none := storetest.MustOpen(t, func(o *sqlite.Options) { o.Versions = -1 })
	copied(t, none, false, store.Stored, v[2])
	copied(t, none, false, store.Stale, v[1])
	copied(t, none, true, store.Stale, v[0])
	note := alice.Sign(30023, 1, "an article", nostr.Tag{"d", "x"})
	copied(t, s, true, store.Stale, note)
}

// TestCopyOfWithdrawnMemory: what was withdrawn before it came was a head, and
// what it superseded is none.
func TestCopyOfWithdrawnMemory(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Versions = 100 })
	e := []*nostr.Event{alice.Entry(bob, 1, "job", "one"), alice.Entry(bob, 2, "job", "two"), alice.Entry(bob, 3, "job", "three")}
	copied(t, s, false, store.Stored, e[0])
	copied(t, s, false, store.Stored, alice.Sign(5, 5, "", nostr.Tag{"e", e[1].ID}))
	copied(t, s, true, store.Stored, e[1])
	heldAs(t, s, nil, e[0], e[1])
	copied(t, s, true, store.Stored, e[2])
	heldAs(t, s, e[2], e[0], e[1])
}

// TestCopiesAreJudgedAsImports: states are adopted in any order, and quotas
// hold if somebody has configured them.
func TestCopiesAreJudgedAsImports(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Versions = 100 })
	open, accepted := alice.State(bob, 1, "job", "", "open"), bob.State(alice, 2, "job", "open", "accepted")
	copied(t, s, true, store.Stored, accepted)
	copied(t, s, true, store.Stored, open)
	if p, err := s.ContractBetween(t.Context(), "job", alice.Pub, bob.Pub); err != nil || p == nil || p.Status != "accepted" {
		t.Errorf("the contract is %+v, %v", p, err)
	}
	for _, byDefault := range []bool{true, false} {
		s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Quota = store.Quota{Events: 1, DefaultEvents: byDefault} })
		copied(t, s, false, store.Stored, alice.Sign(1, 1, "one"))
		want := store.Refused
		if byDefault {
			want = store.Stored
		}
		copied(t, s, false, want, alice.Sign(1, 2, "two"), alice.Engram(bob, 3, "mem/a"))
	}
}

func TestFollow(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []store.Place{{Number: 7}, {Number: 1 << 60, Time: 1 << 40}, {Number: 3, Time: 4}} {
		if err := s.Follow(t.Context(), "a", to); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = sqlite.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for source, want := range map[string]store.Place{"a": {Number: 3, Time: 4}, "b": {}} {
		if got, err := s.FollowedTo(t.Context(), source); err != nil || got != want {
			t.Errorf("%s was followed to %v, %v; want %v", source, got, err, want)
		}
	}
}
