package events_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

func expires(at int64) nostr.Tag {
	return nostr.Tag{"expiration", fmt.Sprint(storetest.Start.Unix() + at)}
}

func TestSweepRemovesWhatHasExpired(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	put(t, s, alice.Note(0, "stays"), store.Stored)
	put(t, s, alice.Note(1, "later", expires(100), nostr.Tag{"t", "x"}), store.Stored)
	put(t, s, alice.Note(2, "soon", expires(10), nostr.Tag{"t", "x"}), store.Stored)
	version := alice.Fake(30174, 0, storetest.Payload("x"), nostr.Tag{"d", "x"}, nostr.Tag{"p", bob.Pub}, expires(10))
	put(t, s, version, store.Stored)
	put(t, s, alice.Fake(30174, 1, storetest.Payload("y"), nostr.Tag{"d", "x"}, nostr.Tag{"p", bob.Pub}), store.Replaced)

	clock.Add(9 * time.Second)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, s, "events"); n != 4 {
		t.Fatalf("%d events before anything expired", n)
	}
	clock.Add(time.Second)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, tags, past := rows(t, s, "events"), rows(t, s, "tags WHERE name = 't'"), rows(t, s, "history"); n != 3 || tags != 1 || past != 0 {
		t.Errorf("%d events, %d tags, %d versions after one of each expired", n, tags, past)
	}
	wantWhole(t, s)
}

// What expires takes the versions before it along: also where it is removed for another
// reason before the sweeper comes by.
func TestExpiryTakesHistory(t *testing.T) {
	for name, sweeps := range map[string]bool{"swept": true, "superseded before": false} {
		t.Run(name, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.MustOpen(t, func(o *sqlite.Options) {
				o.Clock = clock.Now
				o.After = func(time.Duration) <-chan time.Time { return nil }
			})
			at := []nostr.Tag{{"d", "x"}, {"p", bob.Pub}}
			put(t, s, alice.Fake(30174, 0, storetest.Payload("1"), at...), store.Stored)
			put(t, s, alice.Fake(30174, 1, storetest.Payload("2"), at...), store.Replaced)
			put(t, s, alice.Fake(30174, 2, storetest.Payload("3"), append(at, expires(30))...), store.Replaced)
			put(t, s, alice.Fake(30174, 3, storetest.Payload("4"), nostr.Tag{"d", "y"}, nostr.Tag{"p", bob.Pub}), store.Stored)
			put(t, s, alice.Fake(30174, 4, storetest.Payload("5"), nostr.Tag{"d", "y"}, nostr.Tag{"p", bob.Pub}), store.Replaced)
			if n := rows(t, s, "history"); n != 3 {
				t.Fatalf("%d versions before", n)
			}
			clock.Add(30 * time.Second)
			if sweeps {
				if err := s.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
			} else {
				put(t, s, alice.Fake(30174, 40, storetest.Payload("6"), at...), store.Stored)
			}
			if n := rows(t, s, "history"); n != 1 {
				t.Errorf("%d versions are left: those of another address alone must be", n)
			}
			wantWhole(t, s)
		})
	}
}

// What a head that has expired took along does not come back: neither from a client, nor
// from another relay, nor in an import, and also after a restart. A later write begins
// anew.
func TestWhatExpiryTookDoesNotComeBack(t *testing.T) {
	for name, sweeps := range map[string]bool{"swept": true, "not swept": false} {
		t.Run(name, func(t *testing.T) {
			clock := storetest.NewClock()
			o := storetest.Options(t, func(o *sqlite.Options) { o.Clock = clock.Now })
			if !sweeps {
				events.Following(&o)
			}
			open := func() *sqlite.Store {
				s, err := sqlite.Open(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			s := open()
			defer func() { s.Close() }()
			at := []nostr.Tag{{"d", "x"}, {"p", bob.Pub}}
			first, same := alice.Fake(30174, 0, storetest.Payload("1"), at...), alice.Fake(30174, 2, storetest.Payload("same second"), at...)
			put(t, s, first, store.Stored)
			put(t, s, alice.Fake(30174, 2, storetest.Payload("2"), append(at, expires(30))...), store.Replaced)
			put(t, s, first, store.Duplicate)
			clock.Add(31 * time.Second)
			if sweeps {
				if err := s.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				for _, ev := range []*nostr.Event{first, same} {
					for _, opts := range []store.PutOptions{{}, {Import: true}, {Replica: true}, {Replica: true, Past: true}} {
						if r := s.Put(t.Context(), ev, opts); r.Outcome != store.Stale || r.Message() != store.WhyExpired.Error() {
							t.Errorf("%+v: %v %q", opts, r.Outcome, r.Message())
						}
					}
				}
				if n := rows(t, s, "events") + rows(t, s, "history"); n != 0 {
					t.Fatalf("%d are back", n)
				}
				s.Close()
				s = open()
			}
			put(t, s, alice.Fake(30174, 3, storetest.Payload("3"), at...), store.Stored)
			put(t, s, alice.Fake(30174, 4, storetest.Payload("4"), at...), store.Replaced)
			put(t, s, first, store.Stale)
			wantWhole(t, s)
		})
	}
}

func TestSweepTakesMoreThanOneChunk(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	for i := range int64(events.SweepChunk + 10) {
		if _, err := s.Begin(t.Context(), alice.Note(i, "x", expires(10)), store.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	clock.Add(time.Minute)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, s, "events"); n != 0 {
		t.Errorf("%d events left", n)
	}
}

// An expired head that the sweeper has not reached yet does not keep an older
// version out: it is gone.
func TestAnExpiredHeadDoesNotBlock(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) {
		o.Clock = clock.Now
		o.After = func(time.Duration) <-chan time.Time { return nil }
	})
	head := alice.Fake(30023, 20, "x", nostr.Tag{"d", "x"}, expires(30))
	put(t, s, head, store.Stored)
	put(t, s, alice.Fake(30023, 10, "y", nostr.Tag{"d", "x"}), store.Stale)
	clock.Add(30 * time.Second)
	put(t, s, alice.Fake(30023, 10, "y", nostr.Tag{"d", "x"}), store.Stored)
	if isHead(t, s, head) {
		t.Error("the expired head is still there")
	}
	wantWhole(t, s)
}

func TestAnEventThatExpiredOnItsWayIsRefused(t *testing.T) {
	s := storetest.MustOpen(t)
	r := put(t, s, alice.Note(-10, "x", expires(0)), store.Refused)
	if r.Message() != "invalid: the event has expired" {
		t.Errorf("message %q", r.Message())
	}
}

// The sweeper comes by itself when the earliest expiry is due.
func TestExpiryWakesTheWriter(t *testing.T) {
	clock := storetest.NewClock()
	tick, asked := make(chan time.Time), make(chan time.Duration, 100)
	removed := &counter{changed: make(chan struct{}, 100)}
	s := storetest.MustOpen(t, func(o *sqlite.Options) {
		o.Clock, o.Observe = clock.Now, removed
		o.After = func(d time.Duration) <-chan time.Time {
			if asked <- d; d == time.Minute { // which looks for damage
				return nil
			}
			return tick
		}
	})
	put(t, s, alice.Note(0, "x", expires(40)), store.Stored)
	for d := range asked {
		if d == 40*time.Second {
			break
		}
	}
	clock.Add(40 * time.Second)
	tick <- clock.Now()
	removed.wait(t, "expiry", 1)
	if n := rows(t, s, "events"); n != 0 {
		t.Errorf("%d events left", n)
	}
}

func TestBadExpirationsAreNone(t *testing.T) {
	s := storetest.MustOpen(t)
	for i, v := range []string{"", "soon", "1e9", "-5", "0", "99999999999999999999", "1700000000.5"} {
		put(t, s, alice.Note(int64(i), v, nostr.Tag{"expiration", v}), store.Stored)
	}
	if n := rows(t, s, "events WHERE expires_at IS NOT NULL"); n != 0 {
		t.Errorf("%d of them count", n)
	}
}
