package events_test

import (
	"testing"
	"time"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

const day = 24 * time.Hour

func TestHistoryIsPrunedByDaysButNotContracts(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock, o.Days = clock.Now, 30 })
	engram, entry := alice.Engram(bob, 0, "mem/a"), alice.Entry(bob, 0, "c", "one")
	put(t, s, engram, store.Stored)
	put(t, s, entry, store.Stored)
	clock.Add(10 * day) // days count from when a version was superseded, not from when it was written
	put(t, s, alice.Engram(bob, 1, "mem/a"), store.Replaced)
	put(t, s, alice.Entry(bob, 1, "c", "two"), store.Replaced)
	for _, step := range []struct {
		wait   time.Duration
		engram bool
	}{{29 * day, true}, {day, false}} {
		clock.Add(step.wait)
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := isHistory(t, s, engram); got != step.engram {
			t.Errorf("engram kept: %v, want %v", got, step.engram)
		}
	}
	clock.Add(10_000 * day)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !isHistory(t, s, entry) {
		t.Error("a contract entry was pruned")
	}
}

func TestHistoryDaysSwitchedOff(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock, o.Days = clock.Now, -1 })
	v := alice.Engram(bob, 0, "mem/a")
	put(t, s, v, store.Stored)
	put(t, s, alice.Engram(bob, 1, "mem/a"), store.Replaced)
	clock.Add(10_000 * day)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !isHistory(t, s, v) {
		t.Error("pruned")
	}
}

func TestContractDaysCountFromTheFinalState(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock, o.ContractDays = clock.Now, 30 })
	// Alice and Bob complete c; their other contract stays open, and Carol's
	// with Alice under the same id as well.
	put(t, s, alice.State(bob, 0, "c", "", "open"), store.Stored)
	put(t, s, bob.State(alice, 1, "c", "open", "accepted"), store.Stored)
	restore(t, s, carol.State(alice, 1, "c", "", "open"), store.Stored) // as it was before ids had owners
	put(t, s, alice.Entry(bob, 2, "c", "one"), store.Stored)
	put(t, s, alice.Entry(bob, 3, "c", "two"), store.Replaced)
	put(t, s, carol.Entry(alice, 2, "c", "one"), store.Stored)
	put(t, s, carol.Entry(alice, 3, "c", "two"), store.Replaced)
	put(t, s, alice.Entry(bob, 2, "other", "one"), store.Stored)
	put(t, s, alice.Entry(bob, 3, "other", "two"), store.Replaced)
	put(t, s, bob.State(alice, 4, "c", "accepted", "submitted"), store.Replaced)
	put(t, s, alice.State(bob, 5, "c", "submitted", "completed"), store.Replaced)
	before := rows(t, s, "history")
	for _, c := range []struct {
		wait time.Duration
		gone int
	}{{30 * day, 0}, {6 * time.Second, 3}} { // Alice's first entry, the open and the accepted
		clock.Add(c.wait)
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := rows(t, s, "history"); n != before-c.gone {
			t.Errorf("after %v: %d versions, want %d", c.wait, n, before-c.gone)
		}
	}
	if rows(t, s, "events") != 6 {
		t.Error("a head was pruned")
	}
	// The next contract to become final is found too.
	put(t, s, alice.State(carol, 6, "c", "open", "accepted"), store.Replaced)
	put(t, s, alice.State(carol, 7, "c", "accepted", "cancelled"), store.Replaced)
	clock.Add(day)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, s, "history WHERE pubkey = x'%s'", carol.Pub); n != 0 {
		t.Errorf("%d versions of Carol's left", n)
	}
	wantWhole(t, s)
}
