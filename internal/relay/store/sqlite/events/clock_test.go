package events_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// fillByAge stores one of each that goes by age, and returns how many rows there are.
func fillByAge(t *testing.T, s *sqlite.Store) func() string {
	put(t, s, alice.Note(0, "expires", expires(3600)), store.Stored)
	put(t, s, alice.Fake(7, 0, "+"), store.Stored) // by a rule
	put(t, s, alice.Engram(bob, 0, "mem/a"), store.Stored)
	put(t, s, alice.Engram(bob, 1, "mem/a"), store.Replaced)
	put(t, s, alice.State(bob, 0, "c", "", "open"), store.Stored)
	put(t, s, alice.State(bob, 1, "c", "open", "cancelled"), store.Replaced)
	return func() string {
		return fmt.Sprint(rows(t, s, "events"), rows(t, s, "history"), rows(t, s, "quarantine"))
	}
}

func ruledByAge(t *testing.T, clock *storetest.Clock, believed *atomic.Bool) func(*sqlite.Options) {
	return func(o *sqlite.Options) {
		o.Clock, o.Confirmed = clock.Now, believed.Load
		o.Days, o.ContractDays, o.Retention = 30, 30, retain(t, "7 30d", "1 max 1000")
		o.After = func(time.Duration) <-chan time.Time { return nil }
	}
}

// A clock that is not confirmed removes nothing by age, neither while the store is
// open nor at its start; one that is does.
func TestNothingGoesByAClockThatIsNotConfirmed(t *testing.T) {
	for _, ahead := range []time.Duration{60 * day, 400 * day} {
		t.Run(ahead.String(), func(t *testing.T) {
			clock, believed := storetest.NewClock(), &atomic.Bool{}
			believed.Store(true)
			o := storetest.Options(t, ruledByAge(t, clock, believed))
			newest := int64(-1)
			o.Arrived = func(at int64) { newest = at }
			open := func() *sqlite.Store {
				t.Helper()
				s, err := sqlite.Open(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			s := open()
			count := fillByAge(t, s)
			want := count()
			believed.Store(false)
			clock.Add(ahead)
			for range 2 { // the writer has looked for work between them
				if err := s.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Sweep(t.Context()); !errors.Is(err, store.ErrClock) {
				t.Errorf("sweeping: %v", err)
			}
			for range 2 {
				if got := count(); got != want {
					t.Errorf("%s rows are left of %s", got, want)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open()
				count = func() string {
					return fmt.Sprint(rows(t, s, "events"), rows(t, s, "history"), rows(t, s, "quarantine"))
				}
			}
			if newest != storetest.Start.Unix() {
				t.Errorf("the newest arrival is %d", newest)
			}
			clock.Add(-ahead)
			believed.Store(true)
			if err := s.Sweep(t.Context()); err != nil || count() != want {
				t.Errorf("%s rows are left of %s, by the right clock (%v)", count(), want, err)
			}
			clock.Add(ahead)
			if err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := count(); got != "2 0 0" {
				t.Errorf("by a clock that is confirmed %s rows are left", got)
			}
			wantWhole(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Of several stores the one that leads asks before it gives a command; whoever
// executes one asks nobody.
func TestTheLeadingStoreAsksForTheClock(t *testing.T) {
	clock, believed := storetest.NewClock(), &atomic.Bool{}
	tick, asked := make(chan time.Time), &atomic.Int64{}
	o := &several{clock: clock.Now, leads: true}
	options := storetest.Options(t, ruledByAge(t, clock, believed), func(so *sqlite.Options) {
		so.Latest = func(context.Context) error {
			if asked.Add(1) == 1 {
				believed.Store(false)
			}
			return nil
		}
		so.After = func(d time.Duration) <-chan time.Time {
			if d == time.Second { // that between two looks at what is due, and the writer's, in turns
				return tick
			}
			return nil
		}
	})
	o.open(t, options)
	o.s.Close()
	empty := readFile(t, options.Path)
	o.open(t, options)
	if err := o.Append(t.Context(), store.Configure{Live: options.Live}, nil); err != nil {
		t.Fatal(err)
	}
	count := fillByAge(t, o.s)
	want := count()
	clock.Add(60 * day)
	for range 6 {
		tick <- clock.Now()
	}
	if got := count(); got != want {
		t.Errorf("%s rows are left of %s", got, want)
	}
	believed.Store(true) // until it asks the log for the time
	for asked.Load() == 0 {
		tick <- clock.Now()
	}
	for range 4 {
		tick <- clock.Now()
	}
	if got := count(); got != want {
		t.Errorf("%s rows are left of %s", got, want)
	}
	believed.Store(true)
	if err := o.s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := count(); got != "2 0 0" {
		t.Errorf("by a clock that is confirmed %s rows are left", got)
	}
	rowsOf := dump(t, o.s)
	placed := o.placed
	o.s.Close()

	follows := &several{clock: func() time.Time { return storetest.Start }}
	other := storetest.Options(t, func(so *sqlite.Options) { so.Confirmed = func() bool { return false } })
	if err := os.WriteFile(other.Path, empty, 0o600); err != nil {
		t.Fatal(err)
	}
	follows.open(t, other)
	if err := follows.s.Execute(t.Context(), placed); err != nil {
		t.Fatal(err)
	}
	follows.s.Close()
	follows.open(t, other)
	defer func() { follows.s.Close() }()
	got := dump(t, follows.s)
	if i := firstDifference(got, rowsOf); i >= 0 {
		t.Errorf("row %d differs:\n%.300s\n%.300s", i, at(got, i), at(rowsOf, i))
	}
}

// What an event would supersede is said to have expired when it has, of any kind
// with an address and of no other.
func TestHeadExpired(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) {
		o.Clock, o.Confirmed = clock.Now, func() bool { return false }
	})
	old := alice.Fake(30174, 0, storetest.Payload("1"), nostr.Tag{"d", "x"}, nostr.Tag{"p", bob.Pub}, expires(10))
	put(t, s, old, store.Stored)
	put(t, s, alice.Note(0, "expires", expires(10)), store.Stored)
	ask := func(ev *nostr.Event, want bool) {
		t.Helper()
		if got, err := s.HeadExpired(t.Context(), ev); err != nil || got != want {
			t.Errorf("kind %d: %v, %v", ev.Kind, got, err)
		}
	}
	next := alice.Fake(30174, 5, storetest.Payload("2"), nostr.Tag{"d", "x"}, nostr.Tag{"p", bob.Pub})
	ask(next, false)
	clock.Add(10 * time.Second)
	ask(next, true)
	ask(bob.Fake(30174, 5, storetest.Payload("2"), nostr.Tag{"d", "x"}, nostr.Tag{"p", bob.Pub}), false)
	ask(alice.Fake(30174, 5, storetest.Payload("2"), nostr.Tag{"d", "y"}, nostr.Tag{"p", bob.Pub}), false)
	ask(alice.Note(5, "x"), false)
}
