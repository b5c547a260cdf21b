package contracts_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

func TestContractLifecycle(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.State(bob, 0, "c", "", "open"), store.Stored)
	wantRefused(t, s, bob.Entry(alice, 1, "c", "too early"), "blocked: contract c is open")
	put(t, s, alice.Entry(bob, 1, "c", "terms"), store.Stored)
	wantRefused(t, s, alice.State(bob, 2, "c", "open", "completed"), "invalid:")
	wantRefused(t, s, alice.State(bob, 2, "c", "open", "accepted"), "invalid:") // not the poster's to do
	accepted := bob.State(alice, 3, "c", "open", "accepted")
	put(t, s, accepted, store.Stored)
	put(t, s, accepted, store.Duplicate) // and no second move
	wantRefused(t, s, bob.State(alice, 3, "c", "accepted", "submitted"), "invalid: its author's last state of this contract is of the same second")
	put(t, s, bob.Entry(alice, 4, "c", "done"), store.Stored)
	put(t, s, bob.State(alice, 5, "c", "accepted", "submitted"), store.Replaced)
	put(t, s, alice.State(bob, 6, "c", "submitted", "completed"), store.Replaced)

	wantRefused(t, s, bob.Entry(alice, 7, "c", "after the end"), "blocked: contract c is completed")
	put(t, s, bob.Entry(alice, 5, "c", "late but earlier"), store.Replaced)
	wantRefused(t, s, alice.State(bob, 8, "c", "completed", "open"), "invalid:")
	// A third key has its own pair, in which it writes, but the id is taken.
	put(t, s, carol.Entry(alice, 8, "c", "hello"), store.Stored)
	wantRefused(t, s, carol.State(alice, 8, "c", "", "open"), store.WhyTaken.Error())
	wantWhole(t, s)
}

func TestOpenAddressedToOneselfBecomesAPair(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.State(alice, 0, "c", "", "open"), store.Stored)
	put(t, s, alice.Entry(alice, 1, "c", "wanted: somebody who …"), store.Stored)
	// A stranger's entry is not judged by her open: the answer would tell him
	// of it.
	put(t, s, bob.Entry(alice, 1, "c", "me"), store.Stored)
	put(t, s, bob.Entry(alice, 1, "of nobody", "me"), store.Stored)
	wantRefused(t, s, bob.State(alice, 2, "c", "accepted", "submitted"), "invalid:")
	put(t, s, bob.State(alice, 2, "c", "open", "accepted"), store.Stored)
	put(t, s, bob.Entry(alice, 3, "c", "me"), store.Replaced)
	put(t, s, alice.Entry(bob, 3, "c", "fine"), store.Replaced)
	// The open stands, for others as well; the pair has its own state.
	put(t, s, carol.State(alice, 2, "c", "open", "accepted"), store.Stored)
	if n := rows(t, s, "contract_states WHERE contract = 'c'"); n != 3 {
		t.Errorf("%d states, want the open and two pairs", n)
	}
	wantWhole(t, s)
}

// Of two concurrent moves one wins; the other is told why not.
func TestConcurrentMoves(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.State(bob, 0, "c", "", "open"), store.Stored)
	put(t, s, bob.State(alice, 1, "c", "open", "accepted"), store.Stored)
	put(t, s, bob.State(alice, 2, "c", "accepted", "submitted"), store.Replaced)
	moves := []*nostr.Event{
		alice.State(bob, 3, "c", "submitted", "completed"), alice.State(bob, 4, "c", "submitted", "accepted"),
		bob.State(alice, 5, "c", "submitted", "disputed"),
	}
	results := make([]store.Result, len(moves))
	var wg sync.WaitGroup
	for i, ev := range moves {
		wg.Go(func() { results[i] = s.Put(t.Context(), ev, store.PutOptions{}) })
	}
	wg.Wait()
	won := 0
	for _, r := range results {
		switch {
		case r.Outcome.OK():
			won++
		case r.Outcome != store.Refused || !strings.HasPrefix(r.Message(), "invalid: "):
			t.Errorf("%+v", r)
		}
	}
	if won != 1 {
		t.Errorf("%d moves were taken, want 1", won)
	}
}

// A refused event leaves nothing behind, not even the state it would have led
// to.
func TestRefusedMoveLeavesNothing(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Quota.Events = 1 })
	put(t, s, bob.Note(0, "fills the quota"), store.Stored)
	put(t, s, alice.State(bob, 0, "c", "", "open"), store.Stored)
	wantRefused(t, s, bob.State(alice, 1, "c", "open", "accepted"), "blocked: quota")
	if n := rows(t, s, "contract_states WHERE status = 'open'"); n != 1 {
		t.Error("the state moved although the event was refused")
	}
}

func TestDeletionDoesNotReopenAContract(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.State(bob, 0, "c", "", "open"), store.Stored)
	put(t, s, alice.State(bob, 1, "c", "open", "cancelled"), store.Replaced)
	put(t, s, alice.Delete(2, storetest.Address(alice.State(bob, 0, "c", "", "open"))), store.Stored)
	if rows(t, s, "events WHERE kind = 30091") != 0 {
		t.Fatal("the state event is still there")
	}
	wantRefused(t, s, bob.Entry(alice, 3, "c", "hello"), "blocked: contract c is cancelled")
	wantRefused(t, s, alice.State(bob, 4, "c", "", "open"), "invalid:")
}

// Imports are not judged: events may come in any order, and the newest state
// wins.
func TestImportAdoptsStates(t *testing.T) {
	evs := []*nostr.Event{
		alice.State(bob, 0, "c", "", "open"), bob.State(alice, 1, "c", "open", "accepted"),
		bob.State(alice, 2, "c", "accepted", "submitted"), alice.State(bob, 3, "c", "submitted", "completed"),
	}
	for name, order := range map[string][]int{"forwards": {0, 1, 2, 3}, "backwards": {3, 2, 1, 0}, "mixed": {2, 0, 3, 1}} {
		t.Run(name, func(t *testing.T) {
			s := storetest.MustOpen(t)
			for _, i := range order {
				if r := s.Put(t.Context(), evs[i], store.PutOptions{Import: true}); r.Outcome == store.Failed || r.Outcome == store.Refused {
					t.Fatalf("event %d: %+v", i, r)
				}
			}
			if n := rows(t, s, "contract_states WHERE status = 'completed' AND poster = x'%s'", alice.Pub); n != 1 {
				t.Error("the pair's state is not completed, or its poster is not Alice")
			}
			if n := rows(t, s, "events") + rows(t, s, "history"); n != 4 {
				t.Errorf("%d of 4 events are kept", n)
			}
			late := bob.Entry(alice, 9, "c", "after the end")
			wantRefused(t, s, late, "blocked:")
			restore(t, s, late, store.Stored)
			wantWhole(t, s)
		})
	}
}
