package contracts_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
)

// A party takes its words back in the middle of a dispute: nobody finds them on
// a websocket, both parties still read them with what took them back, and the
// contract is where it was.
func TestWithdrawnIsNotGone(t *testing.T) {
	s := storetest.MustOpen(t)
	moves, said := dispute(t, s)
	request := bob.Sign(5, 6, "", nostr.Tag{"a", storetest.Address(said[1])}, nostr.Tag{"a", storetest.Address(moves[1])})
	put(t, s, request, store.Stored)
	wantWhole(t, s)
	for _, f := range []nostr.Filter{{Kinds: []int{30090, 30091}, Authors: []string{bob.Pub}}, {IDs: []string{said[2].ID, moves[2].ID}}} {
		page, err := s.Query(t.Context(), store.Ask{Scope: gate.Operator(), Filter: f})
		if err != nil || len(page.Rows) > 0 {
			t.Errorf("%v finds %d withdrawn events (%v)", f, len(page.Rows), err)
		}
	}
	wantOrder(t, s, theirs, moves[0], moves[1], said[0], said[1], moves[2], said[2], moves[3])
	page, total, err := s.ThreadPage(t.Context(), theirs, 9, 0, 1<<20)
	if err != nil || total != 3 || page[0].Withdrawn != 0 || page[1].Withdrawn == 0 || page[2].Withdrawn == 0 || fmt.Sprintf("%x", page[1].Request) != request.ID {
		t.Errorf("the parties read %d entries: %+v (%v)", total, page, err)
	}
	others := theirs
	others.Whole = false
	if _, total, err := s.ThreadPage(t.Context(), others, 9, 0, 1<<20); err != nil || total != 1 {
		t.Errorf("others read %d entries, want 1 (%v)", total, err)
	}
	if p, err := s.ContractBetween(t.Context(), "c", alice.Pub, bob.Pub); err != nil || p.Status != "disputed" {
		t.Errorf("the contract is %+v (%v)", p, err)
	}
	// Sending it again brings it to nobody, and a later word is one.
	for _, ev := range []*nostr.Event{said[1], said[2], moves[1]} {
		put(t, s, ev, store.Deleted)
		restore(t, s, ev, store.Duplicate)
	}
	later := bob.Entry(alice, 7, "c", "after all")
	put(t, s, later, store.Stored)
	if !isHead(t, s, later) {
		t.Error("what was said later is no head")
	}
	signed, err := s.Withdrawal(t.Context(), "c", page[1].Request)
	if err != nil || signed == nil {
		t.Errorf("the signed request is not shown (%v)", err)
	}
	wantWhole(t, s)
}

// History shows both parties what was withdrawn, and nobody else.
func TestWithdrawnInHistory(t *testing.T) {
	s := storetest.MustOpen(t)
	_, said := dispute(t, s)
	note := bob.Note(0, "unrelated")
	put(t, s, note, store.Stored)
	mixed := bob.Delete(6, said[2].ID, note.ID)
	put(t, s, mixed, store.Stored)
	table := storetest.MustTable(t, gate.Options{})
	for _, who := range []storetest.Key{alice, bob, carol} {
		rows, _, err := s.History(t.Context(), gate.Party(table, gate.NewReader(who.Pub)), store.HistoryQuery{Kind: 30090, Author: bob.Pub, Arrivals: true})
		if who == carol {
			if err != nil || len(rows) > 0 {
				t.Errorf("a stranger reads %d versions (%v)", len(rows), err)
			}
			continue
		}
		if err != nil || len(rows) != 2 {
			t.Fatalf("a party reads %d versions, want 2 (%v)", len(rows), err)
		}
		var got struct {
			ID         string `json:"id"`
			N          int64  `json:"n"`
			ReceivedAt string `json:"received_at"`
			Withdrawn  *struct {
				At    string          `json:"at"`
				Event json.RawMessage `json:"event"`
			} `json:"withdrawn"`
		}
		if err := json.Unmarshal(rows[0].JSON, &got); err != nil {
			t.Fatalf("%s: %v", rows[0].JSON, err)
		}
		// The request names something that is nobody's business here: it is
		// named by its id.
		if got.ID != said[2].ID || got.N != 6 || got.ReceivedAt == "" || got.Withdrawn == nil || string(got.Withdrawn.Event) != `"`+mixed.ID+`"` {
			t.Errorf("history says %s", rows[0].JSON)
		}
		if ev, err := wire.ParseEvent(rows[1].JSON); err != nil || ev.ID != said[1].ID || ev.Sig != said[1].Sig {
			t.Errorf("history says %s (%v)", rows[1].JSON, err)
		}
	}
}

// What comes after the request that takes it back, by import or restore, is
// stored as withdrawn.
func TestWithdrawnBeforeItCame(t *testing.T) {
	from := storetest.MustOpen(t)
	moves, said := dispute(t, from)
	requests := []*nostr.Event{bob.Delete(6, said[1].ID), bob.Sign(5, 6, "", nostr.Tag{"a", storetest.Address(moves[1])})}
	s := storetest.MustOpen(t)
	all := slices.Concat(requests, moves, said)
	for _, ev := range all {
		if r := s.Put(t.Context(), ev, store.PutOptions{Import: true}); !r.Outcome.OK() {
			t.Fatalf("kind %d: %+v", ev.Kind, r)
		}
	}
	wantWhole(t, s)
	page, total, err := s.ThreadPage(t.Context(), theirs, 9, 0, 1<<20)
	if err != nil || total != 3 || page[1].Withdrawn == 0 || page[2].Withdrawn != 0 || fmt.Sprintf("%x", page[1].Request) != requests[0].ID {
		t.Errorf("the thread has %d entries: %+v (%v)", total, page, err)
	}
	if n := rows(t, s, "contract_moves WHERE withdrawn > 0"); n != 2 {
		t.Errorf("%d moves are withdrawn, want 2", n)
	}
	if p, err := s.ContractBetween(t.Context(), "c", alice.Pub, bob.Pub); err != nil || p.Status != "disputed" {
		t.Errorf("the contract is %+v (%v)", p, err)
	}
	if isHead(t, s, said[1]) || isHead(t, s, moves[2]) {
		t.Error("what was withdrawn is shown")
	}
}

// Of one address history comes as it arrived, the last first, in pages of any
// size.
func TestHistoryOfAnAddressIsByArrival(t *testing.T) {
	s := storetest.MustOpen(t)
	var all []*nostr.Event
	for i := range int64(9) {
		ev := bob.Entry(alice, []int64{5, 5, 1, 7, 5, 2, 7, 6, 9}[i], "c", fmt.Sprint(i))
		if r := s.Put(t.Context(), ev, store.PutOptions{}); !r.Outcome.OK() {
			t.Fatal(r)
		}
		all = append(all, ev)
	}
	slices.Reverse(all)
	all = slices.DeleteFunc(all, func(ev *nostr.Event) bool { return isHead(t, s, ev) })
	d, table := "c", storetest.MustTable(t, gate.Options{})
	party, stranger := gate.Party(table, gate.NewReader(alice.Pub)), gate.Party(table, gate.NewReader(carol.Pub))
	for limit := 1; limit <= len(all)+1; limit++ {
		var got []string
		q := store.HistoryQuery{Kind: 30090, Author: bob.Pub, D: &d, Limit: limit}
		for more := true; more; {
			var rows []store.Row
			var err error
			if rows, more, err = s.History(t.Context(), party, q); err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				q.Before = fmt.Sprintf("%x", row.ID)
				got = append(got, q.Before)
			}
		}
		if !slices.Equal(got, idsOf(all...)) {
			t.Fatalf("in pages of %d: %.8s, want %.8s", limit, got, idsOf(all...))
		}
	}
	for _, before := range []string{all[0].ID, bob.Note(0, "not here").ID} {
		if rows, _, err := s.History(t.Context(), stranger, store.HistoryQuery{Kind: 30090, Author: bob.Pub, D: &d, Before: before}); len(rows) > 0 || !errors.Is(err, store.ErrFilter) {
			t.Errorf("a stranger who names a version gets %d and %v", len(rows), err)
		}
	}
}
