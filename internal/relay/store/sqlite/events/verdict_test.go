package events_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// classOf is the class under which an event is stored.
func classOf(t *testing.T, s *sqlite.Store, ev *nostr.Event) gate.Class {
	t.Helper()
	got, err := events.OnReader(t.Context(), s, "SELECT class FROM events WHERE id = x'"+ev.ID+"'")
	if err != nil || len(got) != 1 {
		t.Fatalf("kind %d: %d rows, %v", ev.Kind, len(got), err)
	}
	return gate.Class(got[0].(int64))
}

// wantClass puts an event and looks at its class.
func wantClass(t *testing.T, s *sqlite.Store, why string, ev *nostr.Event, want gate.Class) {
	t.Helper()
	put(t, s, ev, store.Stored)
	if got := classOf(t, s, ev); got != want {
		t.Errorf("a request that names %s is in class %d, want %d", why, got, want)
	}
}

const nowhere = "00000000000000000000000000000000000000000000000000000000deadbeef"

// A deletion request by ids alone is open only if each of them was found as an
// open event of its author.
func TestDeletionIsJudgedByWhatItNames(t *testing.T) {
	s := storetest.MustOpen(t)
	note := func(n int64) *nostr.Event { return alice.Note(n, "note "+strconv.FormatInt(n, 10)) }
	a, b, c, d := note(1), note(2), note(3), note(4)
	older, newer := alice.Engram(bob, 1, "mem/x"), alice.Engram(bob, 2, "mem/x")
	memory, article := alice.Engram(bob, 1, "mem/y"), alice.Fake(30023, 1, "text", nostr.Tag{"d", "z"})
	theirs := bob.Note(1, "his")
	for _, ev := range []*nostr.Event{a, b, c, d, older, memory, article, theirs} {
		put(t, s, ev, store.Stored)
	}
	put(t, s, newer, store.Replaced)
	passing := alice.Fake(1, 1, "soon over", nostr.Tag{"expiration", strconv.FormatInt(storetest.Start.Unix()+1, 10)})
	put(t, s, passing, store.Stored)

	open := alice.Delete(10, a.ID)
	wantClass(t, s, "a note", open, gate.Open)
	wantClass(t, s, "the note again", alice.Delete(11, a.ID), gate.Open)
	wantClass(t, s, "the note twice", alice.Delete(12, a.ID, a.ID), gate.Open)
	wantClass(t, s, "an engram", alice.Delete(13, memory.ID), gate.Deletion)
	wantClass(t, s, "the engram again", alice.Delete(14, memory.ID), gate.Deletion)
	wantClass(t, s, "an engram that was superseded", alice.Delete(15, older.ID), gate.Deletion)
	wantClass(t, s, "it again", alice.Delete(16, older.ID), gate.Deletion)
	wantClass(t, s, "a note and an engram", alice.Delete(17, b.ID, newer.ID), gate.Deletion)
	wantClass(t, s, "what is not here", alice.Delete(18, nowhere), gate.Deletion)
	wantClass(t, s, "that again", alice.Delete(19, nowhere), gate.Deletion)
	wantClass(t, s, "a note and what is not here", alice.Delete(20, c.ID, nowhere), gate.Deletion)
	wantClass(t, s, "that note again", alice.Delete(21, c.ID), gate.Open)
	wantClass(t, s, "somebody else's note", alice.Delete(22, theirs.ID), gate.Deletion)
	wantClass(t, s, "no id", alice.Fake(5, 23, "", nostr.Tag{"e", "x"}), gate.Deletion)
	wantClass(t, s, "an open request", alice.Delete(24, open.ID), gate.Open)
	wantClass(t, s, "an article by address and id", alice.Delete(25, storetest.Address(article), article.ID), gate.Open)
	wantClass(t, s, "the article by id", alice.Delete(26, article.ID), gate.Open)
	wantClass(t, s, "a note and the kind of engrams", alice.Fake(5, 27, "", nostr.Tag{"e", d.ID}, nostr.Tag{"k", "30174"}), gate.Ruled)
	wantClass(t, s, "the kind of notes", alice.Fake(5, 28, "", nostr.Tag{"k", "1"}), gate.Open)
	wantWhole(t, s)
}

// What has expired counts as gone, whether the sweeper came by or not.
func TestWhatHasExpiredIsNotFound(t *testing.T) {
	for _, swept := range []bool{false, true} {
		clock := storetest.NewClock()
		s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
		note := alice.Note(0, "soon over", nostr.Tag{"expiration", strconv.FormatInt(storetest.Start.Unix()+5, 10)})
		put(t, s, note, store.Stored)
		clock.Add(6e9)
		if swept {
			if err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		wantClass(t, s, "what has expired", alice.Delete(1, note.ID), gate.Deletion)
	}
}

// The verdict is told to live delivery with the commit, and in whichever order
// a batch's members come.
func TestVerdictIsCommitted(t *testing.T) {
	var mu sync.Mutex
	got := map[string]gate.Class{}
	s := storetest.MustOpen(t, func(o *sqlite.Options) {
		o.OnCommit = func(batch []store.Committed) {
			mu.Lock()
			defer mu.Unlock()
			for _, c := range batch {
				got[c.Event.ID] = c.Class
			}
		}
	})
	note, memory := alice.Note(0, "note"), alice.Engram(bob, 0, "mem/a")
	want := map[*nostr.Event]gate.Class{alice.Delete(1, note.ID): gate.Open, alice.Delete(1, memory.ID): gate.Deletion}
	release := events.HoldWriter(s)
	var pending []store.Pending
	begin := func(ev *nostr.Event) {
		p, err := s.Begin(t.Context(), ev, store.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pending = append(pending, p)
	}
	begin(note)
	begin(memory)
	for ev := range want {
		begin(ev)
	}
	release()
	for _, p := range pending {
		if r := p.Wait(); r.Outcome != store.Stored || r.Message() != "" {
			t.Errorf("%v %q", r.Outcome, r.Message())
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for ev, class := range want {
		if got[ev.ID] != class {
			t.Errorf("delivered in class %d, want %d", got[ev.ID], class)
		}
	}
}

// A member that is done again, because another of its batch failed, is judged
// again.
func TestVerdictOfABatchDoneAgain(t *testing.T) {
	s := storetest.MustOpen(t)
	note := alice.Note(0, "note")
	put(t, s, note, store.Stored)
	release := events.HoldWriter(s)
	request := alice.Delete(1, note.ID)
	p, err := s.Begin(t.Context(), request, store.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	broken, err := events.BeginBroken(t.Context(), s, alice.Note(2, "broken"), "error")
	if err != nil {
		t.Fatal(err)
	}
	release()
	if p.Wait().Outcome != store.Stored || broken.Wait().Outcome != store.Failed {
		t.Fatal("not as it should be")
	}
	if got := classOf(t, s, request); got != gate.Open {
		t.Errorf("class %d", got)
	}
}

// Imports and restores judge by what they find, and what they find may be less.
func TestImportJudgesByWhatItFinds(t *testing.T) {
	s := storetest.MustOpen(t)
	note, memory := alice.Note(0, "note"), alice.Engram(bob, 0, "mem/a")
	restore(t, s, note, store.Stored)
	restore(t, s, memory, store.Stored)
	found, hidden, missing := alice.Delete(1, note.ID), alice.Delete(1, memory.ID), alice.Delete(1, nowhere)
	for ev, want := range map[*nostr.Event]gate.Class{found: gate.Open, hidden: gate.Deletion, missing: gate.Deletion} {
		restore(t, s, ev, store.Stored)
		if got := classOf(t, s, ev); got != want {
			t.Errorf("imported in class %d, want %d", got, want)
		}
	}
	// Another relay has not got what was deleted here.
	list := snapshotOf(t, s, alice)
	var classes []gate.Class
	other := storetest.MustOpen(t, func(o *sqlite.Options) {
		o.OnCommit = func(batch []store.Committed) {
			for _, c := range batch {
				classes = append(classes, c.Class)
			}
		}
	})
	switchIn(t, other, repair(alice), list)
	if got := classOf(t, other, found); got != gate.Deletion {
		t.Errorf("restored in class %d", got)
	}
	_ = other.Close() // after the last commit was announced
	for _, class := range classes {
		if class != gate.Deletion {
			t.Errorf("announced in class %d", class)
		}
	}
}

// The verdict survives rules that come and go; what a rule gates meanwhile is
// gated.
func TestVerdictSurvivesClassingAnew(t *testing.T) {
	o := storetest.Options(t)
	article, memory, plain := alice.Fake(30023, 0, "text", nostr.Tag{"d", "x"}), alice.Engram(bob, 0, "mem/a"), alice.Note(0, "note")
	open := alice.Fake(5, 1, "", nostr.Tag{"e", article.ID}, nostr.Tag{"k", "30023"})
	hidden := alice.Fake(5, 1, "", nostr.Tag{"e", memory.ID}, nostr.Tag{"k", "30023"})
	byID := alice.Delete(2, plain.ID)
	for i, step := range []struct {
		rules              []string
		open, hidden, byID gate.Class
	}{
		{nil, gate.Open, gate.Deletion, gate.Open},
		{[]string{"30023 author", "1 author"}, gate.Ruled, gate.Deletion, gate.Open},
		{[]string{"1 author"}, gate.Open, gate.Deletion, gate.Open},
		{nil, gate.Open, gate.Deletion, gate.Open},
	} {
		o.Table = storetest.MustTable(t, gate.Options{Rules: step.rules})
		s, err := sqlite.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			for _, ev := range []*nostr.Event{article, memory, plain, open, hidden, byID} {
				put(t, s, ev, store.Stored)
			}
		}
		for ev, want := range map[*nostr.Event]gate.Class{open: step.open, hidden: step.hidden, byID: step.byID} {
			if got := classOf(t, s, ev); got != want {
				t.Errorf("step %d: class %d, want %d", i, got, want)
			}
		}
		wantWhole(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Requests by id that an older version stored as open become their author's:
// what they named is gone and nobody can judge.
func TestRequestsFromBeforeAreTheirAuthors(t *testing.T) {
	for was, rules := range map[string][]string{"v1;": nil, "v1;30023=17": {"30023 author"}, "v1;30023=18": {"30023 author"}} {
		o := storetest.Options(t, func(o *sqlite.Options) { o.Table = storetest.MustTable(t, gate.Options{Rules: rules}) })
		s, err := sqlite.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		note := alice.Note(0, "note")
		byID := alice.Fake(5, 1, "found nowhere", nostr.Tag{"e", note.ID}, nostr.Tag{"p", bob.Pub})
		byKind := alice.Fake(5, 1, "", nostr.Tag{"k", "1"})
		for _, ev := range []*nostr.Event{note, byID, byKind} {
			put(t, s, ev, store.Stored)
		}
		if classOf(t, s, byID) != gate.Open {
			t.Fatal("not open")
		}
		// The fingerprint is that of the version before, with the same rules or
		// with others.
		if _, err := events.OnWriter(s, "UPDATE meta SET value = '"+was+"' WHERE key = 'gate'", "UPDATE deleted_ids SET class = NULL"); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again := storetest.MustOpen(t, func(n *sqlite.Options) { *n = o })
		if got := classOf(t, again, byID); got != gate.Deletion {
			t.Errorf("class %d", got)
		}
		if got := classOf(t, again, byKind); got != gate.Open {
			t.Errorf("a request without ids is in class %d", got)
		}
		if again.SearchEnabled() {
			if n := rows(t, again, "search WHERE search MATCH 'nowhere'"); n != 0 {
				t.Error("it is in the index")
			}
		}
		wantWhole(t, again)
		wantClass(t, again, "what was deleted before", alice.Delete(3, note.ID), gate.Deletion)
	}
}
