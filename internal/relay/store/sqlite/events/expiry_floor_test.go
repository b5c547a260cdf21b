package events_test

import (
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// allWays are the ways by which an event comes.
var allWays = []store.PutOptions{{}, {Import: true}, {Replica: true}, {Replica: true, Past: true}}

// keptOut wants an event refused, whatever way it comes, because a newer one has expired.
func keptOut(t *testing.T, s *sqlite.Store, evs ...*nostr.Event) {
	t.Helper()
	for _, ev := range evs {
		for _, opts := range allWays {
			if r := s.Put(t.Context(), ev, opts); r.Outcome != store.Stale || r.Message() != store.WhyExpired.Error() {
				t.Errorf("the version of %d, %+v: %v %q", ev.CreatedAt, opts, r.Outcome, r.Message())
			}
		}
	}
}

// lapsing is an engram of alice's at mem/a that expires.
func lapsing(at, until int64) *nostr.Event {
	return alice.Fake(30174, at, storetest.Payload("lapses"), alice.Engram(bob, at, "mem/a").Tags.Find("d"), nostr.Tag{"p", bob.Pub}, expires(until))
}

// TestAWrongClockKeepsOutWhatIsOlder: what a clock that was ahead took away comes back,
// whatever way it comes. What is older, or of its second and never expires, does not.
func TestAWrongClockKeepsOutWhatIsOlder(t *testing.T) {
	for _, opts := range allWays {
		clock := storetest.NewClock()
		o := storetest.Options(t, func(o *sqlite.Options) { o.Clock, o.Versions = clock.Now, 100 })
		s, err := sqlite.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		old, same, last := alice.Engram(bob, 0, "mem/a"), alice.Engram(bob, 2, "mem/a"), lapsing(2, 3600)
		put(t, s, old, store.Stored)
		put(t, s, last, store.Replaced)
		clock.Add(2 * time.Hour)
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		put(t, s, last, store.Refused)
		clock.Add(-2 * time.Hour)
		keptOut(t, s, old, same)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = sqlite.Open(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if r := s.Put(t.Context(), last, opts); r.Outcome != store.Stored || !isHead(t, s, last) {
			t.Errorf("%+v: %v %q", opts, r.Outcome, r.Message())
		}
		copied(t, s, false, store.Stale, old)
		copied(t, s, true, store.Stale, old)
		if n := rows(t, s, "history"); n != 0 {
			t.Errorf("%d older versions are back", n)
		}
		clock.Add(time.Hour)
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		keptOut(t, s, old, same)
		wantWhole(t, s)
		s.Close()
	}
}

// TestNoCopyBelowAFloor: what a head that has expired took along does not come back as
// history of a later one, where another relay shows it still.
func TestNoCopyBelowAFloor(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock, o.Versions = clock.Now, 100 })
	old, since, next := alice.Engram(bob, 0, "mem/a"), alice.Engram(bob, 40, "mem/a"), alice.Engram(bob, 41, "mem/a")
	put(t, s, lapsing(2, 30), store.Stored)
	clock.Add(50 * time.Second)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, s, next, store.Stored)
	for _, past := range []bool{false, true} {
		if r := s.Put(t.Context(), old, store.PutOptions{Replica: true, Past: past}); r.Outcome != store.Stale || r.Message() != store.WhyExpired.Error() {
			t.Errorf("past %v: %v %q", past, r.Outcome, r.Message())
		}
	}
	copied(t, s, false, store.Stored, since)
	heldAs(t, s, next, since)
	if n := rows(t, s, "history"); n != 1 {
		t.Errorf("%d versions", n)
	}
	wantWhole(t, s)
}

// TestARestoreBesideAnExpiredHead: whether the sweeper came by or not, a repair brings
// nothing back that an expired head took along, and what the operator releases comes.
func TestARestoreBesideAnExpiredHead(t *testing.T) {
	for name, follows := range map[string]bool{"swept": false, "not swept": true} {
		t.Run(name, func(t *testing.T) {
			clock := storetest.NewClock()
			o := storetest.Options(t, func(o *sqlite.Options) { o.Clock, o.Versions = clock.Now, 100 })
			if follows {
				events.Following(&o)
			}
			s, err := sqlite.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			old, kept := alice.Engram(bob, 0, "mem/a"), alice.Engram(bob, 1, "mem/a")
			put(t, s, kept, store.Stored)
			put(t, s, lapsing(2, 30), store.Replaced)
			clock.Add(time.Minute)
			if !follows {
				if err := s.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			got := switchIn(t, s, repair(alice), []staged{{store.Versions, old}, {store.Versions, kept}})
			if got != (store.Restored{Kept: 2}) || rows(t, s, "history") != 0 {
				t.Errorf("restored %+v, %d versions", got, rows(t, s, "history"))
			}
			wantWhole(t, s)
		})
	}
}

// TestAReleasePassesAnExpiredHead: what a rollback took away comes back when the operator
// releases it, also where what was written since has expired and is not swept yet.
func TestAReleasePassesAnExpiredHead(t *testing.T) {
	for name, follows := range map[string]bool{"swept": false, "not swept": true} {
		t.Run(name, func(t *testing.T) {
			clock := storetest.NewClock()
			o := storetest.Options(t, func(o *sqlite.Options) { o.Clock, o.Versions = clock.Now, 100 })
			if follows {
				events.Following(&o)
			}
			s, err := sqlite.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			old, head := alice.Engram(bob, 0, "mem/a"), alice.Engram(bob, 1, "mem/a")
			put(t, s, old, store.Stored)
			put(t, s, head, store.Replaced)
			switchIn(t, s, rollback(alice, 0), []staged{{store.Heads, old}})
			put(t, s, lapsing(2, 30), store.Replaced)
			clock.Add(time.Minute)
			if !follows {
				if err := s.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := s.ReleaseQuarantine(t.Context(), "test"); err != nil || got != (store.Restored{Stored: 1}) || !isHead(t, s, head) {
				t.Errorf("brought back %+v, %v", got, err)
			}
			wantWhole(t, s)
		})
	}
}
