package events_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

func TestReplaceableKindsKeepTheNewest(t *testing.T) {
	for _, c := range []struct {
		kind int
		tag  nostr.Tag
	}{{0, nil}, {3, nil}, {10002, nil}, {30023, nostr.Tag{"d", "x"}}, {30023, nil}} {
		t.Run(fmt.Sprint(c.kind, c.tag), func(t *testing.T) {
			s := storetest.MustOpen(t)
			make := func(at int64) *nostr.Event {
				if c.tag == nil {
					return alice.Fake(c.kind, at, fmt.Sprint(at))
				}
				return alice.Fake(c.kind, at, fmt.Sprint(at), c.tag)
			}
			put(t, s, make(10), store.Stored)
			put(t, s, make(5), store.Stale)
			put(t, s, make(15), store.Replaced)
			if got := visible(t, s, nostr.Filter{Kinds: []int{c.kind}}); !slices.Equal(got, []string{make(15).ID}) {
				t.Errorf("heads %v", got)
			}
			if n := rows(t, s, "history"); n != 0 {
				t.Errorf("%d versions of an open kind in history", n)
			}
			wantWhole(t, s)
		})
	}
}

func TestTiesGoToTheLowestID(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		s := storetest.MustOpen(t)
		evs := []*nostr.Event{alice.Fake(0, 7, "a"), alice.Fake(0, 7, "b")}
		low := min(evs[0].ID, evs[1].ID)
		for _, i := range order {
			r := s.Put(t.Context(), evs[i], store.PutOptions{})
			if r.Outcome == store.Failed {
				t.Fatal(r.Err)
			}
		}
		if got := visible(t, s, nostr.Filter{}); !slices.Equal(got, []string{low}) {
			t.Errorf("order %v: head %v, want %s", order, got, low)
		}
	}
}

func TestAddressIsKindAuthorAndD(t *testing.T) {
	s := storetest.MustOpen(t)
	d := func(v string) nostr.Tag { return nostr.Tag{"d", v} }
	hex := "00000000000000000000000000000000000000000000000000000000000000ff"
	for _, ev := range []*nostr.Event{
		alice.Fake(30023, 1, "", d("x")), alice.Fake(30024, 1, "", d("x")), bob.Fake(30023, 1, "", d("x")),
		alice.Fake(30023, 1, "", d("y")), alice.Fake(30023, 1, "", d("")), alice.Fake(30023, 1, "", d(hex)),
		alice.Fake(30023, 1, "", d("00000000000000000000000000000000000000000000000000000000000000FF")),
	} {
		put(t, s, ev, store.Stored)
	}
	// No d tag is the same address as an empty one, and only the first d
	// counts.
	put(t, s, alice.Fake(30023, 2, ""), store.Replaced)
	put(t, s, alice.Fake(30023, 2, "", d("x"), d("y")), store.Replaced)
	// Regular kinds have no address, whatever their tags.
	put(t, s, alice.Fake(1, 1, "a", d("x")), store.Stored)
	put(t, s, alice.Fake(1, 2, "b", d("x")), store.Stored)
	put(t, s, alice.Fake(40000, 1, "a", d("x")), store.Stored)
	put(t, s, alice.Fake(40000, 2, "b", d("x")), store.Stored)
	wantWhole(t, s)
}

func TestSupersededEngramsGoToHistory(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Versions = 3 })
	var all []*nostr.Event
	for i := range int64(6) {
		all = append(all, alice.Engram(bob, i, "mem/a"))
		want := store.Replaced
		if i == 0 {
			want = store.Stored
		}
		put(t, s, all[i], want)
	}
	put(t, s, alice.Engram(bob, 0, "mem/b"), store.Stored)
	for i, ev := range all {
		if got, want := isHistory(t, s, ev), i >= 2 && i < 5; got != want {
			t.Errorf("version %d in history: %v, want %v", i, got, want)
		}
	}
	if !isHead(t, s, all[5]) || rows(t, s, "events") != 2 {
		t.Error("the newest is not the only head of its address")
	}
	wantWhole(t, s)
}

func TestNoHistoryWhenSwitchedOff(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Versions = -1 })
	put(t, s, alice.Engram(bob, 0, "mem/a"), store.Stored)
	put(t, s, alice.Engram(bob, 1, "mem/a"), store.Replaced)
	put(t, s, alice.Entry(bob, 0, "c", "one"), store.Stored)
	put(t, s, alice.Entry(bob, 1, "c", "two"), store.Replaced)
	if n := rows(t, s, "history"); n != 1 {
		t.Errorf("%d rows in history, want the contract entry alone", n)
	}
}

func TestLateContractEntriesAreKept(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.Entry(bob, 10, "c", "third"), store.Stored)
	for at, text := range map[int64]string{1: "first", 5: "second"} {
		late := alice.Entry(bob, at, "c", text)
		if r := put(t, s, late, store.Stored); r.Message() != "" || r.Seq == 0 {
			t.Errorf("the answer to a late entry is %q, seq %d", r.Message(), r.Seq)
		}
		put(t, s, late, store.Duplicate)
		if !isHistory(t, s, late) {
			t.Errorf("%s entry is lost", text)
		}
	}
	// Late versions of other kinds are not kept.
	put(t, s, alice.Engram(bob, 10, "mem/a"), store.Stored)
	late := alice.Engram(bob, 5, "mem/a")
	put(t, s, late, store.Stale)
	if isHistory(t, s, late) {
		t.Error("a late engram is in history")
	}
	wantWhole(t, s)
}

func TestCommittedAreToldInOrderAfterTheyAreVisible(t *testing.T) {
	var seen []store.Committed
	var s *sqlite.Store
	s = storetest.MustOpen(t, func(o *sqlite.Options) {
		o.OnCommit = func(list []store.Committed) {
			for _, c := range list {
				if c.Seq > s.LastSeq() {
					t.Errorf("seq %d told while LastSeq is %d", c.Seq, s.LastSeq())
				}
			}
			seen = append(seen, list...)
		}
	})
	release := events.HoldWriter(s)
	evs := []*nostr.Event{
		alice.Engram(bob, 0, "mem/a"), alice.Engram(bob, 1, "mem/a"), alice.Note(0, "x"),
		alice.Engram(bob, 0, "mem/a"), alice.Note(1, "y"),
	}
	var pending []store.Pending
	for _, ev := range evs {
		p, err := s.Begin(t.Context(), ev, store.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pending = append(pending, p)
	}
	release()
	for _, p := range pending {
		p.Wait()
	}
	// The superseded version of the same batch was stored and is told; the
	// duplicate is not.
	want := []string{evs[0].ID, evs[1].ID, evs[2].ID, evs[4].ID}
	var got []string
	for i, c := range seen {
		got = append(got, c.Event.ID)
		if i > 0 && c.Seq <= seen[i-1].Seq {
			t.Error("not in seq order")
		}
		if string(c.JSON[7:71]) != c.Event.ID {
			t.Errorf("JSON %s", c.JSON)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	if seen[0].Class != gate.Engram || seen[2].Class != gate.Open {
		t.Errorf("classes %d and %d", seen[0].Class, seen[2].Class)
	}
}

// A damaged row that is about to be superseded is named, with what is wrong.
func TestDamagedHeadIsNamed(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.Note(0, "x"), store.Stored)
	old := alice.Engram(bob, 0, "mem/a")
	put(t, s, old, store.Stored)
	if _, err := events.OnWriter(s, "UPDATE events SET json = x'7b' WHERE kind = 30174"); err != nil {
		t.Fatal(err)
	}
	r := s.Put(t.Context(), alice.Engram(bob, 1, "mem/a"), store.PutOptions{})
	if r.Err == nil || !strings.Contains(r.Err.Error(), "events 2: ") || !errors.Is(r.Err, store.ErrDamaged) {
		t.Errorf("%v, %v", r.Outcome, r.Err)
	}
}
