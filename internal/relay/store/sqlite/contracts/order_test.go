package contracts_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// numbers is the thread's numbers as "n id", with "n -" for gaps.
func numbers(t *testing.T, s *sqlite.Store, th store.Thread) (lines []string) {
	t.Helper()
	err := s.ThreadOrder(t.Context(), th, func(i store.OrderItem) error {
		id := "-"
		if i.ID != nil {
			id = fmt.Sprintf("%x", i.ID)[:8]
		}
		lines = append(lines, fmt.Sprintf("%d %s", i.N, id))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func wantOrder(t *testing.T, s *sqlite.Store, th store.Thread, events ...*nostr.Event) {
	t.Helper()
	var want []string
	for i, ev := range events {
		id := "-"
		if ev != nil {
			id = ev.ID[:8]
		}
		want = append(want, fmt.Sprintf("%d %s", i+1, id))
	}
	if got := numbers(t, s, th); !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
	wantWhole(t, s)
}

var theirs = store.Thread{Contract: "c", Poster: alice.Pub, Worker: bob.Pub, Party: true, Whole: true}

// What comes in one second, and what is dated before, stands as it arrived.
func TestOrderIsArrival(t *testing.T) {
	var live []string
	s := storetest.MustOpen(t, func(o *sqlite.Options) {
		o.OnCommit = func(all []store.Committed) {
			for _, c := range all {
				live = append(live, c.Event.ID)
			}
		}
	})
	all := []*nostr.Event{
		alice.State(bob, 0, "c", "", "open"), bob.State(alice, 1, "c", "open", "accepted"),
		alice.Entry(bob, 2, "c", "clarification"), bob.Entry(alice, 2, "c", "ack"), alice.Entry(bob, 2, "c", "and"),
		alice.Entry(bob, 2, "c", "again"), bob.Entry(alice, 2, "c", "deliverable"), alice.Entry(bob, 1, "c", "dated before"),
		bob.State(alice, 3, "c", "accepted", "submitted"),
	}
	for _, ev := range all {
		if r := s.Put(t.Context(), ev, store.PutOptions{}); !r.Outcome.OK() || r.Message() != "" {
			t.Fatalf("%s: %v %q", ev.Content, r.Outcome, r.Message())
		}
	}
	wantOrder(t, s, theirs, all...)
	var ids []string
	for _, ev := range all {
		ids = append(ids, ev.ID)
	}
	if !slices.Equal(live, ids) {
		t.Errorf("%d events were delivered live, want each of %d once", len(live), len(ids))
	}
	page, _, err := s.ThreadPage(t.Context(), theirs, 50, 0, 1<<20)
	for i, e := range page {
		if e.N != int64(i)+3 {
			t.Errorf("entry %d has the number %d", i, e.N)
		}
	}
	if err != nil || len(page) != 6 {
		t.Fatalf("%d entries (%v)", len(page), err)
	}
}

// Private entries stand behind the number after which they came, and are
// counted for their author alone.
func TestPrivateEntriesHaveTheirOwnCount(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.State(bob, 0, "c", "", "open"), store.Stored)
	put(t, s, bob.State(alice, 1, "c", "open", "accepted"), store.Stored)
	private := func(who, to storetest.Key, i byte) {
		t.Helper()
		e := store.ThreadEntry{Author: who.Pub, Other: to.Pub, CreatedAt: 5, ID: []byte{9 - i}, Type: "note", Entry: fmt.Sprintf("mem_%012x", i), Data: []byte{1}}
		if err := s.Tell(t.Context(), store.AddPrivateEntry{Contract: "c", Entry: e, Most: 9}); err != nil {
			t.Fatal(err)
		}
	}
	private(alice, bob, 1)
	private(bob, alice, 2)
	put(t, s, alice.Entry(bob, 2, "c", "said"), store.Stored)
	private(alice, bob, 3)
	private(alice, bob, 4)
	for who, want := range map[string]string{alice.Pub: "2+1 3+0 3+2 3+3", bob.Pub: "2+1 3+0"} {
		th := theirs
		th.Reader = who
		page, _, err := s.ThreadPage(t.Context(), th, 50, 0, 1<<20)
		var got []string
		for _, e := range page {
			got = append(got, fmt.Sprintf("%d+%d", e.N, e.K))
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%v, want %s (%v)", got, want, err)
		}
	}
	wantOrder(t, s, theirs, sqlOf(t, s, theirs)...)
}

// sqlOf are the events of a thread's numbers in the order of their arrival in
// the database.
func sqlOf(t *testing.T, s *sqlite.Store, th store.Thread) (events []*nostr.Event) {
	t.Helper()
	for _, f := range []nostr.Filter{{Kinds: []int{30091}}, {Kinds: []int{30090}}} {
		f.Tags = nostr.TagMap{"d": {th.Contract}}
		page, err := s.Query(t.Context(), store.Ask{Scope: gate.Operator(), Filter: f})
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(page.Rows, func(a, b store.Row) int { return int(a.Seq - b.Seq) })
		for _, row := range page.Rows {
			ev := &nostr.Event{}
			if err := json.Unmarshal(row.JSON, ev); err != nil {
				t.Fatal(err)
			}
			events = append(events, ev)
		}
	}
	return events
}

// A pair counts for itself, whoever uses the same id, until it takes an offer.
func TestPairsCountForThemselves(t *testing.T) {
	s := storetest.MustOpen(t)
	stray, late := bob.Entry(alice, 0, "c", "hello?"), bob.Entry(alice, 1, "c", "anybody?")
	put(t, s, stray, store.Stored)
	open, more := alice.State(alice, 1, "c", "", "open"), alice.Entry(alice, 2, "c", "the terms")
	put(t, s, open, store.Stored)
	put(t, s, more, store.Stored)
	asked := carol.Entry(alice, 2, "c", "me too")
	put(t, s, asked, store.Stored)
	put(t, s, late, store.Replaced)
	wantOrder(t, s, store.Thread{Contract: "c", Poster: alice.Pub, Worker: bob.Pub, Talk: true}, stray, late)
	wantOrder(t, s, store.Thread{Contract: "c", Poster: alice.Pub}, open, more)
	accepted := bob.State(alice, 3, "c", "open", "accepted")
	put(t, s, accepted, store.Stored)
	done := bob.Entry(alice, 4, "c", "done")
	put(t, s, done, store.Replaced)
	wantOrder(t, s, theirs, open, more, stray, late, accepted, done)
	page, _, err := s.ThreadPage(t.Context(), theirs, 9, 0, 1<<20)
	if err != nil || len(page) != 4 || page[0].N != 2 || page[3].N != 6 {
		t.Errorf("the entries are numbered otherwise: %d, %v", len(page), err)
	}
	// Who takes the offer too counts behind it: of the others he has holes.
	second := carol.State(alice, 5, "c", "open", "accepted")
	put(t, s, second, store.Stored)
	hers := store.Thread{Contract: "c", Poster: alice.Pub, Worker: carol.Pub}
	wantNumbers(t, s, hers, "1 "+open.ID[:8], "2 "+more.ID[:8], "7 "+asked.ID[:8], "8 "+second.ID[:8])
	// What the poster writes to himself has one number in all of them.
	later, his, hers2 := alice.Entry(alice, 6, "c", "by the way"), bob.Entry(alice, 7, "c", "thanks"), carol.Entry(alice, 8, "c", "mine too")
	for _, ev := range []*nostr.Event{later, his, hers2} {
		put(t, s, ev, store.Replaced)
	}
	wantNumbers(t, s, hers, "1 "+open.ID[:8], "2 "+more.ID[:8], "7 "+asked.ID[:8], "8 "+second.ID[:8], "9 "+later.ID[:8], "11 "+hers2.ID[:8])
	wantNumbers(t, s, theirs, "1 "+open.ID[:8], "2 "+more.ID[:8], "3 "+stray.ID[:8], "4 "+late.ID[:8], "5 "+accepted.ID[:8], "6 "+done.ID[:8],
		"9 "+later.ID[:8], "10 "+his.ID[:8])
	wantWhole(t, s)
}

func wantNumbers(t *testing.T, s *sqlite.Store, th store.Thread, want ...string) {
	t.Helper()
	if got := numbers(t, s, th); !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

// What a poster writes to himself after he has named several is part of each.
func TestFurtherPairsHaveTheOffer(t *testing.T) {
	s := storetest.MustOpen(t)
	toBob, toCarol := alice.State(bob, 0, "c", "", "open"), alice.State(carol, 1, "c", "", "open")
	more, terms, later := alice.Entry(carol, 2, "c", "more"), alice.Entry(alice, 3, "c", "terms"), alice.Entry(alice, 5, "c", "and")
	accepted := carol.State(alice, 4, "c", "open", "accepted")
	for _, ev := range []*nostr.Event{toBob, toCarol, more, terms, accepted, later} {
		if r := s.Put(t.Context(), ev, store.PutOptions{}); !r.Outcome.OK() {
			t.Fatal(r)
		}
	}
	wantNumbers(t, s, store.Thread{Contract: "c", Poster: alice.Pub, Worker: carol.Pub},
		"1 "+toCarol.ID[:8], "2 "+more.ID[:8], "3 "+terms.ID[:8], "4 "+accepted.ID[:8], "5 "+later.ID[:8])
	wantNumbers(t, s, theirs, "1 "+toBob.ID[:8], "3 "+terms.ID[:8], "5 "+later.ID[:8])
	wantWhole(t, s)
}

// An import in any order makes one thread of the offer and the pair that took
// it.
func TestAnOfferThatComesLastJoins(t *testing.T) {
	s := storetest.MustOpen(t)
	accepted, said := bob.State(alice, 3, "c", "open", "accepted"), bob.Entry(alice, 4, "c", "done")
	open := alice.State(alice, 1, "c", "", "open")
	for _, ev := range []*nostr.Event{said, accepted, open} {
		restore(t, s, ev, store.Stored)
	}
	wantOrder(t, s, theirs, said, accepted, open)
}

// Vanishing and the operator's deletions leave gaps: neither keys nor ids.
func TestWhatGoesLeavesAGap(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	open, terms := alice.State(bob, 0, "c", "", "open"), alice.Entry(bob, 1, "c", "terms")
	accepted, ack := bob.State(alice, 2, "c", "open", "accepted"), bob.Entry(alice, 3, "c", "ack")
	more := alice.Entry(bob, 4, "c", "more")
	for _, ev := range []*nostr.Event{open, terms, accepted, ack, more} {
		if r := s.Put(t.Context(), ev, store.PutOptions{}); !r.Outcome.OK() {
			t.Fatal(r)
		}
	}
	waiting := store.ThreadEntry{Author: bob.Pub, Other: alice.Pub, CreatedAt: 5, ID: []byte(strings.Repeat("w", 32)), Type: "note", Entry: "mem_00", Data: []byte("{}")}
	if err := s.Tell(t.Context(), store.AddWaitingEntry{Contract: "c", Entry: waiting}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RemoveMatching(t.Context(), gate.Operator(), []nostr.Filter{{IDs: []string{terms.ID}, Kinds: []int{30090}}}); err != nil {
		t.Fatal(err)
	}
	clock.Add(time.Minute)
	put(t, s, bob.Vanish(clock.Now().Unix()-storetest.Start.Unix()), store.Stored)
	wantOrder(t, s, theirs, open, nil, nil, nil, more, nil)
	var gaps []store.Gap
	err := s.ThreadOrder(t.Context(), theirs, func(i store.OrderItem) error {
		if i.Gap != nil {
			gaps = append(gaps, *i.Gap)
		}
		return nil
	})
	want := []store.Gap{{Type: "message", Role: "poster"},
		{Type: "state", Role: "worker", Status: "accepted", Previous: "open", CreatedAt: int64(accepted.CreatedAt)},
		{Type: "message", Role: "worker"}, {Type: "note", Role: "worker"}}
	if err != nil || !slices.Equal(gaps, want) {
		t.Errorf("the gaps are %+v, want %+v (%v)", gaps, want, err)
	}
	put(t, s, alice.Entry(bob, 60, "c", "where are you?"), store.Replaced)
	if got := numbers(t, s, theirs); len(got) != 7 || !strings.HasPrefix(got[6], "7 ") {
		t.Errorf("after the gaps the order is %v", got)
	}
}
