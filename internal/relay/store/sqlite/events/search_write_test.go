package events_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// searching opens a store, or skips nothing: without FTS5 it checks that the
// store says so and works.
func searching(t *testing.T, o sqlite.Options) (s *sqlite.Store, ok bool) {
	t.Helper()
	s = storetest.MustOpen(t, func(n *sqlite.Options) { *n = o })
	if !s.SearchEnabled() {
		put(t, s, alice.Note(0, "works without search"), store.Stored)
		put(t, s, alice.Delete(1, alice.Note(0, "works without search").ID), store.Stored)
		return s, false
	}
	return s, true
}

func matches(t *testing.T, s *sqlite.Store, term string) int {
	t.Helper()
	return rows(t, s, "search WHERE search MATCH '%s'", term) +
		rows(t, s, "search_entries WHERE search_entries MATCH '%s'", term)
}

func TestWhatIsIndexed(t *testing.T) {
	s, ok := searching(t, storetest.Options(t))
	if !ok {
		return
	}
	for i, c := range []struct {
		ev   *nostr.Event
		want bool
	}{
		{alice.Note(0, "term0"), true},
		{alice.Fake(0, 0, `{"name":"term1"}`), true},
		{alice.Fake(30023, 0, "term2", nostr.Tag{"d", "x"}), true},
		{alice.Fake(30023, 0, "", nostr.Tag{"d", "y"}, nostr.Tag{"title", "term3"}), true},
		{alice.Entry(bob, 0, "c", "term4"), true},
		{alice.State(bob, 0, "term5", "", "open"), false},
		{alice.Fake(7, 0, "term6"), false},
		{alice.Fake(4, 0, "term7", nostr.Tag{"p", bob.Pub}), false},
		{alice.Fake(1059, 0, "term8", nostr.Tag{"p", bob.Pub}), false},
		{alice.Fake(30174, 0, "term9", nostr.Tag{"d", "z"}, nostr.Tag{"p", bob.Pub}), false},
		{alice.Fake(5, 0, "term10"), false},
		{alice.Fake(10000, 0, "term11"), false},
		{alice.Note(0, "term12?iv=abc"), false},
		{alice.Fake(30078, 0, "term13", nostr.Tag{"d", "engramd/agents"}), false},
		{alice.Fake(30090, 0, "term14", nostr.Tag{"d", "c2"}, nostr.Tag{"p", bob.Pub}), false}, // not plain: sealed
	} {
		put(t, s, c.ev, store.Stored)
		if got := matches(t, s, fmt.Sprintf("term%d", i)) == 1; got != c.want {
			t.Errorf("kind %d: found %v, want %v", c.ev.Kind, got, c.want)
		}
	}
	// The words of an entry's JSON are not its text.
	if n := matches(t, s, "message"); n != 0 {
		t.Errorf("found %d entries by a member name", n)
	}
}

func TestWhatGoesLeavesTheIndex(t *testing.T) {
	clock := storetest.NewClock()
	s, ok := searching(t, storetest.Options(t, func(o *sqlite.Options) { o.Clock = clock.Now }))
	if !ok {
		return
	}
	deleted, expired := alice.Note(0, "zebra one"), alice.Note(1, "zebra two", expires(10))
	vanished, replaced := bob.Note(0, "zebra three"), alice.Fake(0, 0, "zebra four")
	superseded := alice.Entry(bob, 0, "c", "zebra five")
	for i, ev := range []*nostr.Event{deleted, expired, vanished, replaced, superseded} {
		put(t, s, ev, store.Stored)
		if n := matches(t, s, "zebra"); n != i+1 {
			t.Fatalf("%d found", n)
		}
	}
	put(t, s, alice.Delete(5, deleted.ID), store.Stored)
	put(t, s, bob.Vanish(5), store.Stored)
	put(t, s, alice.Fake(0, 1, "horse"), store.Replaced)
	put(t, s, alice.Entry(bob, 1, "c", "horse"), store.Replaced)
	clock.Add(time.Minute)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := matches(t, s, "zebra"); n != 0 {
		t.Errorf("%d found after all of them went", n)
	}
	wantWhole(t, s)
}

// secure_delete means that a deleted text is not in the file, and the index
// must not keep its words either.
func TestDeletedWordsLeaveTheFile(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	note := alice.Note(0, "xylophonequartz rests here")
	put(t, s, note, store.Stored)
	for i := range int64(50) {
		put(t, s, bob.Note(i, fmt.Sprint("filler ", i)), store.Stored)
	}
	put(t, s, alice.Delete(1, note.ID), store.Stored)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	// FTS5 stores terms prefix-compressed: look for the tail, too.
	for _, part := range []string{"xylophonequartz", "ylophonequartz"} {
		if bytes.Contains(data, []byte(part)) {
			t.Errorf("%q is still in the file", part)
		}
	}
}

// What was deleted is not found from then on, although its text leaves the
// index a little later, and its number is not given out again before.
func TestDeletedTextIsNotFoundWhileItWaits(t *testing.T) {
	o := storetest.Options(t)
	s, ok := searching(t, o)
	if !ok {
		return
	}
	notes := []*nostr.Event{alice.Note(0, "zebra one"), alice.Note(1, "zebra two")}
	put(t, s, notes[0], store.Stored)
	r := put(t, s, notes[1], store.Stored)
	release := events.HoldWriter(s)
	p, err := s.Begin(t.Context(), alice.Delete(2, notes[0].ID, notes[1].ID), store.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	held := make(chan func())
	go func() { held <- events.HoldWriter(s) }() // queued behind the deletion: one text is taken out before it, no more
	for s.QueueLen() < 2 {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
	release()
	p.Wait()
	release = <-held
	if rows(t, s, "search_gone") != 1 || matches(t, s, "zebra") != 1 {
		t.Error("want one text still in the index, and noted to be taken out")
	}
	hits, err := s.Search(t.Context(), store.Ask{Scope: gate.Operator(), Filter: nostr.Filter{Search: "zebra"}})
	if err != nil {
		t.Fatal(err)
	}
	if page, err := hits.Next(t.Context(), 10, 1<<20); err != nil || len(page.Rows) != 0 {
		t.Errorf("found %d, %v", len(page.Rows), err)
	}
	release()
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows(t, s, "search_gone") != 0 || matches(t, s, "zebra") != 0 {
		t.Error("the text is still there")
	}
	if next := put(t, s, alice.Note(3, "x"), store.Stored); next.Seq <= r.Seq {
		t.Errorf("seq %d again", next.Seq)
	}
}

// A program without FTS5 leaves the index behind; the next one with it builds
// it anew, the rest of a large one while the store works.
func TestIndexIsBuiltAnewWhenBehind(t *testing.T) {
	for _, n := range []int{100, events.BuildAtOpen + 500} {
		o := storetest.Options(t)
		s, ok := searching(t, o)
		if !ok {
			return
		}
		fill(t, s, n, func(i int64) *nostr.Event { return alice.Note(i, "word") })
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		outside(t, o.Path, "UPDATE meta SET value = '' WHERE key = 'search_version'")
		again, err := sqlite.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if n <= events.BuildAtOpen && !again.SearchEnabled() {
			t.Error("a small index is not built at open")
		}
		fresh, gone := alice.Note(int64(n), "word"), alice.Note(0, "word")
		put(t, again, fresh, store.Stored)
		put(t, again, alice.Delete(int64(n+1), gone.ID), store.Stored)
		if err := again.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for !again.SearchEnabled() {
			if err := again.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := matches(t, again, "word"); got != n {
			t.Errorf("%d found, want %d", got, n)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A broken index costs search, not events.
func TestBrokenIndexSwitchesSearchOff(t *testing.T) {
	o := storetest.Options(t)
	s, ok := searching(t, o)
	if !ok {
		return
	}
	put(t, s, alice.Note(0, "word"), store.Stored)
	if _, err := events.OnWriter(s, "DROP TABLE search_data"); err != nil {
		t.Fatal(err)
	}
	put(t, s, alice.Note(1, "word"), store.Stored)
	if s.SearchEnabled() {
		t.Error("search is still on")
	}
	put(t, s, alice.Note(2, "word"), store.Stored)
	if n := rows(t, s, "events"); n != 3 {
		t.Errorf("%d events", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := storetest.MustOpen(t, func(n *sqlite.Options) { *n = o })
	if n := matches(t, again, "word"); n != 3 || !again.SearchEnabled() {
		t.Errorf("%d found after the next start", n)
	}
}
