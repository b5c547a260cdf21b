package events_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestScrubGivesOldRowsTheirSums: a row from before gets its sum when id and
// signature were verified, and one that is wrong never does.
func TestScrubGivesOldRowsTheirSums(t *testing.T) {
	s := storetest.MustOpen(t)
	good, unsigned, hidden := alice.Sign(1, 0, "good"), alice.Sign(1, 1, "unsigned"), alice.Sign(30174, 2, storetest.Payload("x"), nostr.Tag{"d", alice.Pub}, nostr.Tag{"p", bob.Pub})
	old, head := bob.Sign(30174, 3, storetest.Payload("y"), nostr.Tag{"d", alice.Pub}, nostr.Tag{"p", bob.Pub}), bob.Sign(30174, 4, storetest.Payload("z"), nostr.Tag{"d", alice.Pub}, nostr.Tag{"p", bob.Pub})
	for _, ev := range []*nostr.Event{good, unsigned, hidden, old} {
		put(t, s, ev, store.Stored)
	}
	put(t, s, head, store.Replaced)
	wrong := []byte(unsigned.Sig)
	if wrong[5]++; wrong[5] == '9'+1 || wrong[5] == 'f'+1 {
		wrong[5] = '0' // hex it stays
	}
	_, err := events.OnWriter(s, "UPDATE events SET sum = NULL", "UPDATE history SET sum = NULL", "DELETE FROM meta WHERE key = 'ready.sums'",
		"UPDATE events SET json = CAST(replace(json, '"+unsigned.Sig+"', '"+string(wrong)+"') AS BLOB)", "UPDATE events SET class = 0 WHERE created_at = "+strconv.FormatInt(int64(hidden.CreatedAt), 10))
	if err != nil {
		t.Fatal(err)
	}
	// Before it was verified: by id and columns.
	if got := storetest.Visible(t, s, nostr.Filter{Kinds: []int{1}}); len(got) != 2 {
		t.Errorf("of old notes %d are shown, want 2", len(got))
	}
	if page, err := s.Query(t.Context(), store.Ask{Filter: nostr.Filter{IDs: []string{hidden.ID}}}); len(page.Rows) != 0 || err != nil {
		t.Errorf("an engram that says to be open: %d rows, %v", len(page.Rows), err)
	}
	if err := events.Scrub(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if page, err := s.Query(t.Context(), store.Ask{Filter: nostr.Filter{IDs: []string{unsigned.ID}}}); len(page.Rows) != 0 || !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a note whose signature is known to be wrong: %d rows, %v", len(page.Rows), err)
	}
	if n := s.Rotten(); n != 2 {
		t.Errorf("%d rows are known to be rotten, want 2", n)
	}
	if n := storetest.Rows(t, events.Engine(s), "(SELECT sum FROM events WHERE sum IS NULL UNION ALL SELECT sum FROM history WHERE sum IS NULL)"); n != 2 {
		t.Errorf("%d rows have no sum, want the rotten ones", n)
	}
	for _, ev := range []*nostr.Event{unsigned, hidden, good, old, head} {
		put(t, s, ev, store.Duplicate)
	}
	wantWhole(t, s)
	if n := s.Rotten(); n != 0 {
		t.Errorf("healed, and %d are known to be rotten", n)
	}
}

// TestScrubMendsIndexes: a flip in an index hides an event from who names it, until
// the scrub has compared the index with its row.
func TestScrubMendsIndexes(t *testing.T) {
	note := alice.Sign(1, 0, "note", nostr.Tag{"t", "hidden-by-a-flip"})
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, note, store.Stored)
	wantClosed(t, s)
	for name, entry := range map[string][]byte{"id": mustHex(t, note.ID), "tag": []byte("hidden-by-a-flip"), "author": mustHex(t, alice.Pub)} {
		file, err := os.ReadFile(o.Path)
		if err != nil {
			t.Fatal(err)
		}
		places := 0
		for from := 0; ; places++ {
			i := bytes.Index(file[from:], entry)
			if i < 0 {
				break
			}
			if from += i + 1; name == "tag" && bytes.HasPrefix(file[from+len(entry)-1:], []byte(`"`)) {
				continue // it is the event's own
			}
			file[from+3] ^= 4
		}
		if places == 0 {
			t.Fatalf("%s: no entry of an index was found", name)
		}
		if err := os.WriteFile(o.Path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		f := nostr.Filter{IDs: []string{note.ID}}
		switch name {
		case "author":
			f = nostr.Filter{Authors: []string{alice.Pub}}
		case "tag":
			f = nostr.Filter{Tags: nostr.TagMap{"t": {"hidden-by-a-flip"}}}
		}
		if s, err = sqlite.Open(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if got := storetest.Visible(t, s, f); len(got) != 0 {
			t.Fatalf("%s: the flip hides nothing", name)
		}
		if err := events.Scrub(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if got := storetest.Visible(t, s, f); len(got) != 1 {
			t.Errorf("%s: after the scrub %d are found", name, len(got))
		}
		wantClosed(t, s)
	}
}

func mustHex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRottenRowsAreRemoved: whatever removes events removes rotten ones.
func TestRottenRowsAreRemoved(t *testing.T) {
	for name, remove := range map[string]func(t *testing.T, s *sqlite.Store, ev *nostr.Event){
		"by its author's request": func(t *testing.T, s *sqlite.Store, ev *nostr.Event) {
			put(t, s, alice.Delete(100, ev.ID), store.Stored)
		},
		"by the operator": func(t *testing.T, s *sqlite.Store, ev *nostr.Event) {
			if _, err := s.RemoveMatching(t.Context(), gate.Operator(), []nostr.Filter{{IDs: []string{ev.ID}, Kinds: []int{ev.Kind}}}); err != nil {
				t.Fatal(err)
			}
		},
		"by vanishing": func(t *testing.T, s *sqlite.Store, ev *nostr.Event) { put(t, s, alice.Vanish(100), store.Stored) },
	} {
		for _, harm := range []string{"json = CAST(replace(json, 'content', 'c0ntent') AS BLOB)", "json = CAST(replace(json, 'created_at', 'created-at') AS BLOB)", "sum = sum + 1"} {
			t.Run(name+", "+harm[:6], func(t *testing.T) {
				s := storetest.MustOpen(t)
				ev := alice.Engram(bob, 1, "mem/a")
				put(t, s, bob.Note(0, "stays", nostr.Tag{"p", alice.Pub}), store.Stored)
				put(t, s, ev, store.Stored)
				if _, err := events.OnWriter(s, "UPDATE events SET "+harm+" WHERE kind = 30174"); err != nil {
					t.Fatal(err)
				}
				remove(t, s, ev)
				if err := s.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
				wantWhole(t, s)
				if n := storetest.Rows(t, events.Engine(s), "events WHERE kind = 30174"); n != 0 {
					t.Errorf("%d are left", n)
				}
			})
		}
	}
}

// TestWhatScrubFoundIsSaid: an event that lists pass over, for something beside it is
// rotten, is missed by name once the scrub has found it, and no snapshot leaves it out.
func TestWhatScrubFoundIsSaid(t *testing.T) {
	s := storetest.MustOpen(t)
	ev := alice.Engram(bob, 1, "mem/a")
	put(t, s, ev, store.Stored)
	if _, err := events.OnWriter(s, "UPDATE events SET class = 77, readers = NULL"); err != nil {
		t.Fatal(err)
	}
	f := nostr.Filter{Kinds: []int{30174}, Tags: nostr.TagMap{"p": {bob.Pub}}}
	ask := func(who storetest.Key) error {
		scope, err := storetest.MustTable(t, gate.Options{}).ScopeFor(gate.NewReader(who.Pub), f)
		if err != nil {
			return err
		}
		_, err = s.Query(t.Context(), store.Ask{Scope: scope, Filter: f})
		return err
	}
	if err := events.Scrub(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if d := store.PartOf(ask(bob)); d == nil || d.Events[0].ID != ev.ID {
		t.Errorf("its reader is told %v", d)
	}
	if err := ask(carol); errors.Is(err, store.ErrDamaged) {
		t.Errorf("somebody else is told %v", err)
	}
	err := s.Capture(t.Context(), gate.Operator(), store.CaptureQuery{Agent: alice.Pub}, func(v store.View) error {
		return v.Each(t.Context(), store.Heads, func([]byte) error { return nil })
	})
	if !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a capture: %v", err)
	}
	put(t, s, ev, store.Duplicate)
	if err := ask(bob); err != nil {
		t.Errorf("healed: %v", err)
	}
}
