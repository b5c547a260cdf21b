package contracts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/niptemp"
)

// expiry is the word of an offer's expirer, with one p tag.
func expiry(k, poster storetest.Key, at int64, id string) *nostr.Event {
	return k.State(poster, at, id, "open", "expired")
}

// datedBy are the tags that name an expirer and a deadline.
func datedBy(k storetest.Key, at int64) []nostr.Tag {
	return []nostr.Tag{{"expirer", k.Pub}, {"deadline", fmt.Sprint(storetest.Start.Unix() + at)}}
}

// What a poster writes to himself stands in his contract's thread: when that is
// closed, it is closed for him too.
func TestNotesToOneselfEndWithTheContract(t *testing.T) {
	for name, to := range map[string]storetest.Key{"offered to all": alice, "offered to the worker": bob} {
		t.Run(name, func(t *testing.T) {
			s := storetest.MustOpen(t)
			put(t, s, alice.State(to, 0, "c", "", "open"), store.Stored)
			put(t, s, alice.Entry(alice, 1, "c", "to be said later"), store.Stored)
			put(t, s, bob.State(alice, 2, "c", "open", "accepted"), store.Stored)
			put(t, s, alice.Entry(alice, 3, "c", "while it runs"), store.Replaced)
			put(t, s, bob.State(alice, 4, "c", "accepted", "cancelled"), store.Replaced)
			wantRefused(t, s, alice.Entry(alice, 5, "c", "and another thing"), "blocked: contract c is cancelled")
			put(t, s, alice.Entry(alice, 4, "c", "on its way when it ended"), store.Replaced)
			put(t, s, bob.Entry(bob, 9, "c", "nobody's business"), store.Stored) // in no thread
		})
	}
}

// What is imported after it was withdrawn takes nobody's place, and is no fault
// of the database.
func TestImportedAfterWithdrawal(t *testing.T) {
	s := storetest.MustOpen(t)
	first, second := alice.Entry(bob, 1, "c", "one"), alice.Entry(bob, 2, "c", "two")
	open, named := alice.State(alice, 1, "d", "", "open"), alice.State(bob, 2, "d", "open", "open")
	restore(t, s, alice.Delete(3, second.ID, named.ID), store.Stored)
	for _, ev := range []*nostr.Event{first, second, open, named} {
		restore(t, s, ev, store.Stored)
	}
	if got := visible(t, s, nostr.Filter{Kinds: []int{30090, 30091}}); len(got) != 2 {
		t.Errorf("%d are shown, want those that were not withdrawn", len(got))
	}
	wantWhole(t, s)
}

// An offer's expiry that was imported first stands where the offer does.
func TestExpiryImportedBeforeItsOffer(t *testing.T) {
	for name, to := range map[string]storetest.Key{"to all": alice, "to one": bob} {
		t.Run(name, func(t *testing.T) {
			s := storetest.MustOpen(t)
			open := saltedState(alice, to, 0, "c", "", "open", datedBy(dave, 5)...)
			restore(t, s, expiry(dave, alice, 6, "c"), store.Stored)
			restore(t, s, open, store.Stored)
			p, err := s.ContractPair(t.Context(), "c", alice.Pub, "")
			if err != nil || p == nil || p.Status != "expired" {
				t.Fatalf("it is %+v, %v", p, err)
			}
			moves, total, err := s.ContractMoves(t.Context(), p, true, 10, 0, 1<<20)
			if err != nil || total != 2 || len(moves) != 2 || !strings.Contains(string(moves[0].Data)+string(moves[1].Data), dave.Pub) {
				t.Errorf("%d moves are listed: %+v, %v", total, moves, err)
			}
			if got := numbers(t, s, store.Thread{Contract: "c", Poster: p.Poster, Worker: p.Worker, Party: true, Whole: true}); len(got) != 2 {
				t.Errorf("the order is %v", got)
			}
			wantWhole(t, s)
		})
	}
}

// Terms of an offer to all hold for whom it names, whichever was imported
// first.
func TestTermsImportedAfterTheName(t *testing.T) {
	s := storetest.MustOpen(t)
	restore(t, s, alice.State(bob, 1, "c", "open", "open"), store.Stored)
	restore(t, s, saltedState(alice, alice, 0, "c", "", "open", datedBy(dave, 5)...), store.Stale)
	p, err := s.ContractBetween(t.Context(), "c", alice.Pub, bob.Pub)
	if err != nil || p == nil || p.Deadline != storetest.Start.Unix()+5 {
		t.Errorf("the contract is %+v, %v", p, err)
	}
}

// Several opens to one worker offer the greater of each term, whatever their
// dates and the order in which they were imported.
func TestTermsOfSeveralOpens(t *testing.T) {
	first, second := saltedState(alice, bob, 1, "c", "", "open", datedBy(dave, 90)...), saltedState(alice, bob, 2, "c", "", "open", datedBy(carol, 30)...)
	one, err := niptemp.TermsOf(first)
	if err != nil {
		t.Fatal(err)
	}
	other, err := niptemp.TermsOf(second)
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range [][]*nostr.Event{{first, second}, {second, first}} {
		s := storetest.MustOpen(t)
		for _, ev := range order {
			if r := s.Put(t.Context(), ev, store.PutOptions{Import: true}); r.Outcome == store.Refused {
				t.Fatal(r)
			}
		}
		p, err := s.ContractBetween(t.Context(), "c", alice.Pub, bob.Pub)
		if err != nil || p == nil || p.Deadline != storetest.Start.Unix()+90 {
			t.Fatalf("the contract is %+v, %v", p, err)
		}
		if offered, _, err := s.TermsOf(t.Context(), p); err != nil || offered != one.Greater(other) {
			t.Errorf("it offers %+v, %v", offered, err)
		}
	}
}

// Of two whom a poster has named, and of whom none has accepted, the id means
// the first by date, however they were imported.
func TestFirstNamedInAnyOrder(t *testing.T) {
	id, tag := committed(t, alice, 1)
	first, second := saltedState(alice, bob, 0, id, "", "open", tag), saltedState(alice, carol, 1, id, "", "open", tag)
	for _, order := range [][]*nostr.Event{{first, second}, {second, first}} {
		s := storetest.MustOpen(t)
		for _, ev := range order {
			if r := s.Put(t.Context(), ev, store.PutOptions{Import: true}); r.Outcome == store.Refused {
				t.Fatal(r)
			}
		}
		for _, k := range []storetest.Key{alice, dave} {
			if got := means(t, s, id, k); got != "alice bob open" {
				t.Errorf("to %s it means %s", nameOf(k.Pub), got)
			}
		}
	}
}

// An id that shows who made it never means somebody else's contract to those
// who have no part in that.
func TestCommittedIDMeansNobodyElses(t *testing.T) {
	s := storetest.MustOpen(t)
	id, tag := committed(t, alice, 1)
	put(t, s, carol.State(carol, 0, id, "", "open"), store.Stored)
	put(t, s, saltedEntry(alice, bob, 1, id, "mine", tag), store.Stored)
	for k, want := range map[storetest.Key]string{alice: "nothing", bob: "nothing", dave: "nothing", carol: "carol nobody open"} {
		if got := means(t, s, id, k); got != want {
			t.Errorf("to %s it means %s, want %s", nameOf(k.Pub), got, want)
		}
	}
}

// Who decided and vanishes leaves a gap, and what his decision did.
func TestDeciderVanishes(t *testing.T) {
	s := storetest.MustOpen(t)
	terms := nostr.Tag{"arbitrator", dave.Pub}
	put(t, s, saltedState(alice, bob, 0, "c", "", "open", terms), store.Stored)
	put(t, s, saltedState(bob, alice, 1, "c", "open", "accepted", terms), store.Stored)
	put(t, s, bob.State(alice, 2, "c", "accepted", "disputed"), store.Replaced)
	verdict := contractEvent(dave, 30091, "c", alice.Pub, storetest.Start.Unix()+3,
		`{"contract_id":"c","status":"completed","previous_status":"disputed","note":"because of what he said"}`, nostr.Tag{"p", bob.Pub})
	put(t, s, verdict, store.Stored)
	put(t, s, dave.Vanish(9), store.Stored)
	p, err := s.ContractBetween(t.Context(), "c", alice.Pub, bob.Pub)
	if err != nil || p.Status != "completed" {
		t.Fatalf("the contract is %+v, %v", p, err)
	}
	d, err := s.ContractDecision(t.Context(), p)
	if err != nil || d == nil || !d.Gone || d.Note != "" || d.Key != "" || d.EventID != "" || d.Status != "completed" {
		t.Errorf("of the decision there is %+v, %v", d, err)
	}
	// On whom the parties agreed is their word, which stays.
	if offered, agreed, err := s.TermsOf(t.Context(), p); err != nil || offered.Arbitrator != dave.Pub || agreed.Arbitrator != dave.Pub {
		t.Errorf("they agreed on %+v of %+v, %v", agreed, offered, err)
	}
	if n := rows(t, s, "contract_verdicts WHERE note <> ''"); n != 0 {
		t.Errorf("%d notes are left", n)
	}
	// It is still decided, whatever comes by import.
	restore(t, s, alice.State(bob, 4, "c", "disputed", "completed"), store.Replaced)
	if again, err := s.ContractBetween(t.Context(), "c", alice.Pub, bob.Pub); err != nil || again.EventID != p.EventID {
		t.Errorf("the contract is %+v, %v", again, err)
	}
	wantWhole(t, s)
}
