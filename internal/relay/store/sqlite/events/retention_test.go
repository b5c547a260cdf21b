package events_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/retention"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

func retain(t *testing.T, texts ...string) []retention.Rule {
	t.Helper()
	rules, err := retention.Parse(texts)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

const hours = int64(3600)

// TestRetentionByAge: by created_at, of the kinds that a rule covers and of no
// other; superseded versions go with their head.
func TestRetentionByAge(t *testing.T) {
	clock, removed := storetest.NewClock(), &counter{}
	s := storetest.MustOpen(t, func(o *sqlite.Options) {
		o.Clock, o.Observe, o.After = clock.Now, removed, func(time.Duration) <-chan time.Time { return nil }
		o.Retention = retain(t, "1,30078 1d", "30000-39999 2d")
	})
	for i := range int64(700) {
		put(t, s, alice.Note(-i*hours, "x", nostr.Tag{"t", "x"}), store.Stored)
	}
	young := alice.Note(1, "young")
	put(t, s, young, store.Stored)
	put(t, s, alice.Fake(7, -1000*hours, "+"), store.Stored)
	app := func(d string, at int64) *nostr.Event { return alice.Fake(30078, at, "x", nostr.Tag{"d", d}) }
	put(t, s, app("a", -30*hours), store.Stored)
	put(t, s, app("b", -30*hours), store.Stored)
	fresh := app("b", 0)
	put(t, s, fresh, store.Replaced)
	engram := alice.Engram(bob, -1000*hours, "mem/x")
	entry := alice.Entry(bob, -1000*hours, "contract", "x")
	put(t, s, engram, store.Stored)
	put(t, s, entry, store.Stored)
	post := alice.Fake(30023, -47*hours, "x", nostr.Tag{"d", "x"})
	put(t, s, post, store.Stored)

	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Of the notes those stay that are no older than a day.
	if n := rows(t, s, "events WHERE kind = 1"); n != 26 {
		t.Errorf("%d notes", n)
	}
	if rows(t, s, "events WHERE kind = 30078") != 1 || !isHead(t, s, fresh) || !isHead(t, s, post) || !isHead(t, s, engram) || !isHead(t, s, entry) ||
		rows(t, s, "events WHERE kind = 7") != 1 {
		t.Error("other events than those of the rules are gone")
	}
	if n := removed.get("retention"); n != 676 {
		t.Errorf("%d removed", n)
	}
	if !maps.Equal(removed.retired, map[string]int{"open": 676}) {
		t.Errorf("by class %v", removed.retired)
	}
	clock.Add(time.Hour)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.Add(time.Second)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if isHead(t, s, post) {
		t.Error("a post is older than two days and stays")
	}
	wantWhole(t, s)
}

// TestRetentionOfWhatIsNamed: engrams and contract memory, with all their
// versions, also where these are many.
func TestRetentionOfWhatIsNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	clock, removed := storetest.NewClock(), &counter{}
	s := storetest.MustOpen(t, func(o *sqlite.Options) {
		o.Clock, o.Observe, o.After = clock.Now, removed, func(time.Duration) <-chan time.Time { return nil }
		o.Retention = retain(t, "30174,30090 1d")
	})
	for i := range int64(events.SweepChunk + 100) {
		want := store.Replaced
		if i == 0 {
			want = store.Stored
		}
		put(t, s, alice.Entry(bob, i, "contract", fmt.Sprint(i)), want)
	}
	put(t, s, alice.Engram(bob, 0, "mem/x"), store.Stored)
	put(t, s, alice.Engram(bob, 1, "mem/x"), store.Replaced)
	clock.Add(24 * time.Hour)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, s, "events"); n != 2 {
		t.Errorf("%d heads a day later", n)
	}
	clock.Add(time.Hour)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, past, entries := rows(t, s, "events"), rows(t, s, "history"), rows(t, s, "contract_entries"); n+past+entries != 0 {
		t.Errorf("%d heads, %d versions, %d entries are left", n, past, entries)
	}
	if !maps.Equal(removed.retired, map[string]int{"engram": 1, "contract": 1}) {
		t.Errorf("by class %v", removed.retired)
	}
	wantWhole(t, s)
}

// TestRetentionByNumber: the newest of all the rule's kinds together.
func TestRetentionByNumber(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	s := storetest.MustOpen(t, func(o *sqlite.Options) {
		o.After = func(time.Duration) <-chan time.Time { return nil }
	})
	for i := range int64(600) {
		put(t, s, alice.Note(2*i, "x"), store.Stored)
		put(t, s, alice.Fake(7, 2*i+1, "+"), store.Stored)
	}
	if err := s.SetOptions(t.Context(), store.Live{Retention: retain(t, "1,7 max 300", "7 100y max 200")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	start := storetest.Start.Unix()
	if n, old := rows(t, s, "events"), rows(t, s, fmt.Sprintf("events WHERE created_at < %d", start+900)); n != 300 || old != 0 {
		t.Errorf("%d events, %d of them older than the newest 300", n, old)
	}
	wantWhole(t, s)
}

// TestRetentionComesByItself: at open, when the rules change, and every hour.
func TestRetentionComesByItself(t *testing.T) {
	clock, removed := storetest.NewClock(), &counter{changed: make(chan struct{}, 100)}
	tick := make(chan time.Time)
	path := ""
	open := func() *sqlite.Store {
		return storetest.MustOpen(t, func(o *sqlite.Options) {
			o.Clock, o.Observe = clock.Now, removed
			o.After = func(d time.Duration) <-chan time.Time {
				if d == time.Hour {
					return tick
				}
				return nil
			}
			if path != "" {
				o.Path = path
			}
			path = o.Path
		})
	}
	s := open()
	put(t, s, alice.Note(-48*hours, "x"), store.Stored)
	put(t, s, alice.Fake(7, -48*hours, "+"), store.Stored)
	put(t, s, alice.Fake(7, 0, "+"), store.Stored)
	if err := s.SetOptions(t.Context(), store.Live{Retention: retain(t, "1 1d")}); err != nil {
		t.Fatal(err)
	}
	removed.wait(t, "retention", 1)
	if err := s.SetOptions(t.Context(), store.Live{Retention: retain(t, "7 1d")}); err != nil {
		t.Fatal(err)
	}
	removed.wait(t, "retention", 2)
	clock.Add(25 * time.Hour)
	for removed.get("retention") < 3 { // the housekeeper waits for an hour, too
		select {
		case tick <- clock.Now():
		case <-removed.changed:
		}
	}
	if n := rows(t, s, "events"); n != 0 {
		t.Errorf("%d events are left", n)
	}
	put(t, s, alice.Note(-48*hours, "again"), store.Stored)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.MustOpen(t, func(o *sqlite.Options) {
		o.Path, o.Clock, o.Observe, o.Retention = path, clock.Now, removed, retain(t, "1 1d")
	})
	removed.wait(t, "retention", 4)
	wantWhole(t, s)
}
