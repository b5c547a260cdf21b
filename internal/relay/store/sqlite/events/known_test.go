package events_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

func knownSince(t *testing.T, s *sqlite.Store, key string, before time.Time) bool {
	t.Helper()
	known, err := s.KnownSince(t.Context(), key, before)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// A key is known from the arrival of its first event on: not from what that
// says of its time, nor from being named.
func TestKnownSinceTheFirstArrival(t *testing.T) {
	clock := storetest.NewClock()
	o := storetest.Options(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	old := alice.Note(-1_000_000, "of long ago", nostr.Tag{"p", bob.Pub})
	put(t, s, old, store.Stored)
	clock.Add(time.Hour)
	put(t, s, alice.Note(1, "again"), store.Stored)
	put(t, s, bob.Note(1, "named before"), store.Stored)
	check := func() {
		t.Helper()
		for _, c := range []struct {
			who    string
			before time.Duration
			want   bool
		}{
			{alice.Pub, 0, false}, {alice.Pub, time.Second, true},
			{bob.Pub, time.Hour, false}, {bob.Pub, time.Hour + time.Second, true},
			{carol.Pub, 1000 * time.Hour, false}, {"alice", 1000 * time.Hour, false},
		} {
			if got := knownSince(t, s, c.who, storetest.Start.Add(c.before)); got != c.want {
				t.Errorf("%.8s before +%v: %v", c.who, c.before, got)
			}
		}
	}
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = sqlite.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put(t, s, bob.Note(2, "after a start"), store.Stored)
	check()
	put(t, s, alice.Delete(3, old.ID), store.Stored)
	if !knownSince(t, s, alice.Pub, storetest.Start.Add(time.Second)) {
		t.Error("a key of which something is left is forgotten")
	}
}

// What is undone has not arrived, whether the key had a number before or not.
func TestWhatIsUndoneMakesNobodyKnown(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Quota.Bytes = 1500 })
	ever := storetest.Start.Add(1000 * time.Hour)
	put(t, s, alice.Note(0, "hi", nostr.Tag{"p", bob.Pub}), store.Stored)
	big := make([]byte, 2000)
	for i := range big {
		big[i] = 'x'
	}
	for i, k := range []storetest.Key{bob, carol} {
		release := events.HoldWriter(s)
		var waits []store.Pending
		for j, text := range []string{"", string(big)} { // the second is refused, alone
			who := alice
			if j == 1 {
				who = k
			}
			p, err := s.Begin(t.Context(), who.Sign(30000, int64(10*i+j), text, nostr.Tag{"d", strconv.Itoa(i)}), store.PutOptions{})
			if err != nil {
				t.Fatal(err)
			}
			waits = append(waits, p)
		}
		release()
		if a, b := waits[0].Wait(), waits[1].Wait(); !a.Outcome.OK() || b.Outcome != store.Refused {
			t.Fatalf("%v, %v", a, b)
		}
		if knownSince(t, s, k.Pub, ever) {
			t.Error("a key is known by an event that was refused")
		}
		put(t, s, k.Note(50, "now"), store.Stored)
		if !knownSince(t, s, k.Pub, ever) {
			t.Error("a key is not known by an event that came after one that was refused")
		}
	}
	wantWhole(t, s)
}

// Authors of an older database count as known, whom it only names do not.
func TestAuthorsOfAnOldDatabaseAreKnown(t *testing.T) {
	w, path := oldWorld(t, 200)
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Path, o.Table, o.Clock = path, w.table, w.clock.Now })
	if n := rows(t, s, "pubkeys WHERE since = 0"); n == 0 {
		t.Error("nobody is known")
	}
	if n := rows(t, s, "pubkeys WHERE since = 0 <> EXISTS (SELECT 1 FROM events WHERE author = num)"); n != 0 {
		t.Errorf("%d keys are known without an event, or not with one", n)
	}
}
