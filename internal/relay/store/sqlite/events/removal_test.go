package events_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

func filters(t *testing.T, texts ...string) (out []nostr.Filter) {
	t.Helper()
	for _, text := range texts {
		f, err := wire.ParseFilter([]byte(text), wire.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out = append(out, f)
	}
	return out
}

// remove removes what filters match, after it has looked that the count says
// the same.
func remove(t *testing.T, s *sqlite.Store, texts ...string) store.Removal {
	t.Helper()
	before := rows(t, s, "events") + rows(t, s, "history") + rows(t, s, "quarantine")
	count, err := s.CountMatching(t.Context(), gate.Operator(), filters(t, texts...))
	if err != nil {
		t.Fatal(err)
	}
	if after := rows(t, s, "events") + rows(t, s, "history") + rows(t, s, "quarantine"); after != before {
		t.Fatalf("counting changed %d rows to %d", before, after)
	}
	done, err := s.RemoveMatching(t.Context(), gate.Operator(), filters(t, texts...))
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(count.Events, done.Events) || !maps.Equal(count.Versions, done.Versions) || !maps.Equal(count.Quarantined, done.Quarantined) ||
		!maps.Equal(count.Spared, done.Spared) {
		t.Errorf("counted %+v, removed %+v", count, done)
	}
	wantWhole(t, s)
	return done
}

func wantCounts(t *testing.T, what string, got, want map[int]int64) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s %v, want %v", what, got, want)
	}
}

type counts = map[int]int64

// TestRemoveMatching: by every member of a filter, over pages; what does not
// match stays.
func TestRemoveMatching(t *testing.T) {
	removed := &counter{}
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Observe = removed })
	for i := range int64(1200) {
		put(t, s, alice.Note(i, fmt.Sprint("cedar ", i), nostr.Tag{"t", fmt.Sprint("topic", i%3)}), store.Stored)
	}
	for i := range int64(600) {
		put(t, s, bob.Note(i, "other"), store.Stored)
	}
	one := bob.Note(5000, "one")
	put(t, s, one, store.Stored)
	base := storetest.Start.Unix()
	wantCounts(t, "by id", remove(t, s, `{"ids":["`+one.ID+`"]}`).Events, counts{1: 1})
	wantCounts(t, "by tag", remove(t, s, `{"#t":["topic1"],"kinds":[1]}`).Events, counts{1: 400})
	wantCounts(t, "by time", remove(t, s, fmt.Sprintf(`{"kinds":[1],"authors":[%q],"since":%d,"until":%d}`, bob.Pub, base+100, base+199)).Events, counts{1: 100})
	wantCounts(t, "nothing", remove(t, s, `{"authors":[]}`, `{"kinds":[7]}`).Events, counts{})
	wantCounts(t, "by author", remove(t, s, `{"authors":["`+alice.Pub+`"]}`).Events, counts{1: 800})
	if n, tags := rows(t, s, "events"), rows(t, s, "tags WHERE name='t'"); n != 500 || tags != 0 {
		t.Errorf("%d events and %d tags are left", n, tags)
	}
	if n := removed.get("operator"); n != 1301 {
		t.Errorf("%d counted as removed", n)
	}
	// It is no ban.
	put(t, s, one, store.Stored)
}

// TestRemoveSparesWhatIsNotNamed: filters without kinds leave alone what others
// rest on, and say so.
func TestRemoveSparesWhatIsNotNamed(t *testing.T) {
	s := storetest.MustOpen(t)
	old, head := alice.Engram(bob, 0, "mem/x"), alice.Engram(bob, 10, "mem/x")
	put(t, s, alice.Note(0, "x"), store.Stored)
	put(t, s, old, store.Stored)
	put(t, s, head, store.Replaced)
	put(t, s, alice.Delete(20, strings.Repeat("a", 64)), store.Stored)
	put(t, s, alice.Fake(62, -100, "", nostr.Tag{"relay", "ALL_RELAYS"}), store.Stored)
	by := `"authors":["` + alice.Pub + `"]`
	got := remove(t, s, `{`+by+`}`)
	wantCounts(t, "removed", got.Events, counts{1: 1})
	wantCounts(t, "versions", got.Versions, counts{})
	wantCounts(t, "spared", got.Spared, counts{5: 1, 62: 1, 30174: 2})
	if !isHead(t, s, head) || !isHistory(t, s, old) {
		t.Fatal("engrams are gone")
	}
	// What one filter spares another may name; each row counts once.
	got = remove(t, s, `{`+by+`}`, `{"kinds":[30174],`+by+`}`, `{"kinds":[30174,5],`+by+`}`)
	wantCounts(t, "removed", got.Events, counts{5: 1, 30174: 1})
	wantCounts(t, "versions", got.Versions, counts{30174: 1})
	wantCounts(t, "spared", got.Spared, counts{62: 1})
	// What an author had deleted does not come back because his request is
	// gone.
	ev := alice.Fake(1, 30, "y")
	put(t, s, ev, store.Stored)
	put(t, s, alice.Delete(40, ev.ID), store.Stored)
	remove(t, s, `{"kinds":[5]}`)
	put(t, s, ev, store.Deleted)
}

// TestRemovedVersionsDoNotReturn: however much of an address the operator
// removes, no version that was superseded becomes head again; the removed head
// itself may be published again, and what is newer may.
func TestRemovedVersionsDoNotReturn(t *testing.T) {
	path := ""
	open := func() *sqlite.Store {
		return storetest.MustOpen(t, func(o *sqlite.Options) {
			if path != "" {
				o.Path = path
			}
			path = o.Path
		})
	}
	s := open()
	const plain = 30023 // of which no history is kept
	at := func(created int64) *nostr.Event { return alice.Fake(plain, created, "x", nostr.Tag{"d", "post"}) }
	oldest, old, late, head := alice.Engram(bob, 0, "mem/x"), alice.Engram(bob, 5, "mem/x"), alice.Engram(bob, 7, "mem/x"), alice.Engram(bob, 10, "mem/x")
	put(t, s, oldest, store.Stored)
	put(t, s, old, store.Replaced)
	put(t, s, head, store.Replaced)
	put(t, s, at(0), store.Stored)
	put(t, s, at(10), store.Replaced)
	// An author's head that he deletes, over versions that the operator removes
	// first.
	first, second := alice.Engram(bob, 0, "mem/y"), alice.Engram(bob, 10, "mem/y")
	put(t, s, first, store.Stored)
	put(t, s, second, store.Replaced)
	remove(t, s, `{"ids":["`+first.ID+`"]}`) // spared
	remove(t, s, `{"kinds":[30174],"ids":["`+first.ID+`"]}`)
	put(t, s, alice.Delete(20, second.ID), store.Stored)

	got := remove(t, s, fmt.Sprintf(`{"kinds":[30174,%d],"since":%d,"authors":[%q]}`, plain, storetest.Start.Unix()+5, alice.Pub))
	wantCounts(t, "events", got.Events, counts{30174: 1, plain: 1})
	wantCounts(t, "versions", got.Versions, counts{30174: 1})
	if !isHistory(t, s, oldest) || isHead(t, s, oldest) {
		t.Error("what was left is not history")
	}
	remove(t, s, `{"kinds":[30174],"ids":["`+oldest.ID+`"]}`)
	for _, again := range []bool{false, true} {
		for _, ev := range []*nostr.Event{oldest, old, late, at(0), at(9), first} {
			if r := put(t, s, ev, store.Stale); r.Message() != store.WhyRemoved.Error() {
				t.Errorf("at %d: %q", ev.CreatedAt, r.Message())
			}
			restore(t, s, ev, store.Stale)
		}
		if n := rows(t, s, "events WHERE kind <> 5"); n != 0 {
			t.Fatalf("%d heads", n)
		}
		if again {
			break
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open()
	}
	put(t, s, head, store.Stored)
	put(t, s, at(10), store.Stored)
	put(t, s, at(11), store.Replaced)
	put(t, s, alice.Engram(bob, 11, "mem/y"), store.Stored)
	wantWhole(t, s)
}

// stepping is told of every transaction that removes something.
type stepping struct {
	counter
	step func()
}

func (s *stepping) Removed(string, int) { s.step() }

// TestRemovalsAreBounded: large events go a few at a time, and others write in
// between.
func TestRemovalsAreBounded(t *testing.T) {
	steps := 0
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Observe = &stepping{step: func() { steps++ }} })
	tags := make([]nostr.Tag, 2000)
	for i := range tags {
		tags[i] = nostr.Tag{"r", fmt.Sprint("https://example.com/", i)}
	}
	for i := range int64(12) {
		put(t, s, alice.Fake(1, i, "", tags...), store.Stored)
	}
	wantCounts(t, "removed", remove(t, s, `{"kinds":[1]}`).Events, counts{1: 12})
	if steps < 6 {
		t.Errorf("12 events of 2,000 tags were removed in %d transactions", steps)
	}
}

// TestRemovalStopsAndGoesOn: what is stopped half-way leaves whole events, and
// can be run again.
func TestRemovalStopsAndGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Observe = &stepping{step: cancel} })
	for i := range int64(1000) {
		put(t, s, alice.Note(i, "x", nostr.Tag{"t", "x"}), store.Stored)
	}
	done, err := s.RemoveMatching(ctx, gate.Operator(), filters(t, `{"kinds":[1]}`))
	left := rows(t, s, "events")
	if !errors.Is(err, context.Canceled) || left == 0 || left == 1000 || done.Events[1] != int64(1000-left) {
		t.Errorf("%v; %d events left, %v counted", err, left, done.Events)
	}
	wantWhole(t, s)
	wantCounts(t, "the rest", remove(t, s, `{"kinds":[1]}`).Events, counts{1: int64(left)})
}

func TestRemoveRefusesWhatItCannotMean(t *testing.T) {
	s := storetest.MustOpen(t)
	for _, text := range []string{`{"kinds":[1],"limit":1}`, `{"limit":0}`, `{"search":"x"}`} {
		if _, err := s.RemoveMatching(t.Context(), gate.Operator(), filters(t, text)); !errors.Is(err, store.ErrFilter) {
			t.Errorf("%s: %v", text, err)
		}
		if err := s.Export(t.Context(), gate.Operator(), false, filters(t, text), func([]byte) error { return nil }); !errors.Is(err, store.ErrFilter) {
			t.Errorf("export %s: %v", text, err)
		}
	}
	if _, err := s.CountMatching(t.Context(), gate.Scope{}, filters(t, `{}`)); !errors.Is(err, store.ErrFilter) {
		t.Errorf("another's scope: %v", err)
	}
}

// TestRemovalTakesSearchAndQuarantine: nothing of what is removed is found, and
// no release brings it back.
func TestRemovalTakesSearchAndQuarantine(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.Note(0, "cedar"), store.Stored)
	remove(t, s, `{"kinds":[1]}`)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.SearchEnabled() {
		if n := rows(t, s, `search WHERE search MATCH 'cedar'`); n != 0 {
			t.Errorf("%d texts are in the index", n)
		}
	}
	head := alice.Engram(bob, 10, "mem/x")
	put(t, s, head, store.Stored)
	r, err := s.BeginRestore(store.RestoreOptions{Name: "r", Agent: alice.Pub, Mode: store.Rollback})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Switch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows(t, s, "quarantine") != 1 {
		t.Fatal("nothing is in quarantine")
	}
	wantCounts(t, "spared", remove(t, s, `{"authors":["`+alice.Pub+`"]}`).Spared, counts{30174: 1})
	wantCounts(t, "quarantine", remove(t, s, `{"kinds":[30174]}`).Quarantined, counts{30174: 1})
}

// TestExportFilters: what any filter matches, in the order of arrival, history
// too.
func TestExportFilters(t *testing.T) {
	s := storetest.MustOpen(t)
	var all []*nostr.Event
	add := func(ev *nostr.Event, want store.Outcome) *nostr.Event {
		put(t, s, ev, want)
		all = append(all, ev)
		return ev
	}
	for i := range int64(700) {
		add(alice.Note(1000-i, "x", nostr.Tag{"t", fmt.Sprint(i % 2)}), store.Stored)
	}
	old := add(alice.Engram(bob, 0, "mem/x"), store.Stored)
	add(alice.Engram(bob, 10, "mem/x"), store.Replaced)
	add(bob.Note(0, "y"), store.Stored)
	for _, c := range []struct {
		history bool
		texts   []string
	}{
		{false, []string{`{}`}}, {true, []string{`{}`}}, {true, []string{`{"kinds":[30174]}`}}, {false, []string{`{"kinds":[30174]}`}},
		{true, []string{`{"#t":["1"]}`}}, {true, []string{`{"#t":["1"]}`, `{"#p":["` + bob.Pub + `"]}`, `{"#t":["1"],"kinds":[1]}`}},
		{true, []string{`{"ids":["` + old.ID + `"]}`}}, {false, []string{`{"ids":["` + old.ID + `"]}`}}, {true, []string{`{"authors":["` + bob.Pub + `"]}`}},
		{true, []string{`{"kinds":[]}`}}, {true, []string{fmt.Sprintf(`{"until":%d}`, storetest.Start.Unix()+5)}},
	} {
		want, fs := []string{}, nostr.Filters(filters(t, c.texts...))
		for _, ev := range all {
			if fs.Match(ev) && (c.history || ev != old) {
				want = append(want, ev.ID)
			}
		}
		got := []string{}
		err := s.Export(t.Context(), gate.Operator(), c.history, fs, func(json []byte) error {
			ev, err := wire.ParseEvent(json)
			if err == nil {
				got = append(got, ev.ID)
			}
			return err
		})
		if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%v, history %v: %d events, %v; want %d", c.texts, c.history, len(got), err, len(want))
		}
	}
}

// TestRollbackGoesBelowAFloor: the operator himself may bring an older version
// back; a repair, which only puts back what is missing, does not.
func TestRollbackGoesBelowAFloor(t *testing.T) {
	s := storetest.MustOpen(t)
	old, head := alice.Engram(bob, 0, "mem/x"), alice.Engram(bob, 10, "mem/x")
	put(t, s, old, store.Stored)
	put(t, s, head, store.Replaced)
	remove(t, s, `{"kinds":[30174]}`)
	for _, mode := range []store.RestoreMode{store.Repair, store.Rollback} {
		back := mode == store.Rollback
		r, err := s.BeginRestore(store.RestoreOptions{Mode: mode, Agent: alice.Pub, Name: "r"})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Add(t.Context(), store.Heads, old); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Switch(t.Context()); err != nil {
			t.Fatal(err)
		}
		if isHead(t, s, old) != back {
			t.Errorf("%v: back %v", mode, !back)
		}
	}
	wantWhole(t, s)
}
