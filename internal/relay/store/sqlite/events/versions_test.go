package events_test

import (
	"testing"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestManyVersions: where many are kept a write does not count them, and yet there are
// never more; not after a lower bound, nor beside what was removed.
func TestManyVersions(t *testing.T) {
	const most = 600 // more than are counted at each write
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Versions = most })
	var at int64
	write := func(n, want int) {
		t.Helper()
		for range n {
			at++
			if r := s.Put(t.Context(), alice.Engram(bob, at, "mem/a"), store.PutOptions{}); !r.Outcome.OK() {
				t.Fatalf("%+v", r)
			}
		}
		if got := rows(t, s, "history"); got != want {
			t.Errorf("after %d versions %d are kept, want %d", at, got, want)
		}
	}
	bound := func(n int) {
		t.Helper()
		if err := s.SetOptions(t.Context(), store.Live{Versions: n}); err != nil {
			t.Fatal(err)
		}
	}
	write(500, 499)
	write(101, 600)
	write(50, 600)
	bound(700)
	write(90, 690)
	write(20, 700)
	bound(650)
	write(1, 650)
	bound(most)
	write(1, most)
	bound(700)
	write(60, 660)
	// What goes with the head leaves room.
	put(t, s, alice.Delete(at, storetest.Address(alice.Engram(bob, at, "mem/a"))), store.Stored)
	kept := rows(t, s, "history")
	write(200, kept+199)
}
