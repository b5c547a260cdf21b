package events_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// Rules that change put stored events into their new class when the store
// opens, deletion requests too.
func TestRulesThatChangedClassStoredEventsAnew(t *testing.T) {
	o := storetest.Options(t)
	article := alice.Fake(30023, 0, "secret plans", nostr.Tag{"d", "x"}, nostr.Tag{"p", bob.Pub})
	deletion := alice.Delete(1, "30023:"+alice.Pub+":y")
	steps := []struct {
		rules    []string
		class    gate.Class
		deletion gate.Class
		readers  int
		found    int // by search
	}{
		{nil, gate.Open, gate.Open, 0, 1},
		{[]string{"30023 author,p"}, 16 | 3, gate.Deletion, 1, 0},
		{[]string{"30023 author"}, 16 | 1, gate.Deletion, 1, 0},
		{nil, gate.Open, gate.Open, 0, 1},
	}
	for i, step := range steps {
		o.Table = storetest.MustTable(t, gate.Options{Rules: step.rules})
		s, err := sqlite.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			for _, ev := range []*nostr.Event{article, deletion, alice.Note(0, "plans"), alice.Engram(bob, 0, "mem/a")} {
				put(t, s, ev, store.Stored)
			}
		}
		if n := rows(t, s, "events WHERE id = x'%s' AND class = %d", article.ID, step.class); n != 1 {
			t.Errorf("step %d: the article is not in class %d", i, step.class)
		}
		if n := rows(t, s, "events WHERE id = x'%s' AND class = %d", deletion.ID, step.deletion); n != 1 {
			t.Errorf("step %d: the deletion request is not in class %d", i, step.deletion)
		}
		if n := rows(t, s, "events WHERE id = x'%s' AND readers = (SELECT num FROM pubkeys WHERE key = x'%s')", article.ID, bob.Pub); n != step.readers {
			t.Errorf("step %d: readers", i)
		}
		if n := rows(t, s, "events WHERE kind IN (1, 30174) AND class = CASE kind WHEN 1 THEN 0 ELSE 1 END"); n != 2 {
			t.Errorf("step %d: others changed class", i)
		}
		if s.SearchEnabled() {
			if n := rows(t, s, "search WHERE search MATCH 'secret'"); n != step.found {
				t.Errorf("step %d: found %d times, want %d", i, n, step.found)
			}
		}
		wantWhole(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// History is classed anew as well: a version that was superseded under a rule
// stays under a rule.
func TestHistoryIsClassedAnew(t *testing.T) {
	o := storetest.Options(t, func(o *sqlite.Options) {
		o.Table = storetest.MustTable(t, gate.Options{Rules: []string{"30023 author"}})
	})
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, alice.Fake(30023, 0, "a", nostr.Tag{"d", "x"}), store.Stored)
	put(t, s, alice.Fake(30023, 1, "b", nostr.Tag{"d", "x"}), store.Replaced)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o.Table = storetest.MustTable(t, gate.Options{Rules: []string{"30023 author,p"}})
	again := storetest.MustOpen(t, func(n *sqlite.Options) { *n = o })
	if n := rows(t, again, "history WHERE class = 19"); n != 1 {
		t.Error("the version has its old class")
	}
	wantWhole(t, again)
}

// Kinds that a later version gates get their class of a database in which they
// are open, and so does a request to delete one.
func TestKindsThatWereOpenAreGated(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	reminder := alice.Fake(30300, 0, "buy cedar", nostr.Tag{"d", "x"}, nostr.Tag{"p", bob.Pub})
	settings := alice.Fake(30179, 0, "cedar", nostr.Tag{"d", "x"})
	request := alice.Delete(1, "30300:"+alice.Pub+":y")
	for _, ev := range []*nostr.Event{reminder, settings, request} {
		put(t, s, ev, store.Stored)
	}
	if _, err := events.OnWriter(s, `UPDATE events SET class = 0, readers = NULL, sum = NULL`, `UPDATE meta SET value = 'kinds:before' WHERE key = 'gate'`); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := storetest.MustOpen(t, func(n *sqlite.Options) { *n = o })
	for ev, want := range map[*nostr.Event]gate.Class{reminder: gate.Own, settings: gate.Own, request: gate.Deletion} {
		if got := classOf(t, again, ev); got != want {
			t.Errorf("kind %d is in class %d, want %d", ev.Kind, got, want)
		}
	}
	if n := rows(t, again, "events WHERE id = x'%s' AND readers = (SELECT num FROM pubkeys WHERE key = x'%s')", reminder.ID, bob.Pub); n != 1 {
		t.Error("whom the reminder names is not kept")
	}
	wantWhole(t, again)
}
