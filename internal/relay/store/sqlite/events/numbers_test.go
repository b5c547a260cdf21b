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

// numbered counts the keys with a number; of these, 1 or 0 for one.
func numbered(t *testing.T, s *sqlite.Store, keys ...storetest.Key) (n int) {
	t.Helper()
	if len(keys) == 0 {
		return rows(t, s, "pubkeys")
	}
	for _, k := range keys {
		n += rows(t, s, "pubkeys WHERE key = x'%s'", k.Pub)
	}
	return n
}

func expiring(k storetest.Key, at int64, tags ...nostr.Tag) *nostr.Event {
	return k.Note(0, "soon gone", append(tags, nostr.Tag{"expiration", strconv.FormatInt(storetest.Start.Unix()+at, 10)})...)
}

// A key is forgotten with the last event that is by it or names it, and not
// before.
func TestAKeyIsForgottenWithItsLastMention(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	put(t, s, expiring(alice, 10, nostr.Tag{"p", bob.Pub}), store.Stored)
	put(t, s, expiring(carol, 20, nostr.Tag{"p", bob.Pub}), store.Stored)
	for _, step := range []struct{ after, left int }{{5, 3}, {15, 2}, {25, 0}} {
		clock.Add(storetest.Start.Add(time.Duration(step.after) * time.Second).Sub(clock.Now()))
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := numbered(t, s); n != step.left {
			t.Errorf("after %d s %d keys are known, want %d", step.after, n, step.left)
		}
		if n := rows(t, s, "pubkeys_gone"); n != 0 {
			t.Errorf("after %d s %d keys wait to be forgotten", step.after, n)
		}
		wantWhole(t, s)
	}
}

// Who vanishes leaves the request, and whom only he named is forgotten.
func TestVanishForgetsWhomNobodyElseNames(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.Engram(bob, 0, "mem/a"), store.Stored)
	put(t, s, alice.Engram(bob, 1, "mem/a"), store.Replaced)
	put(t, s, alice.Note(1, "hi", nostr.Tag{"p", carol.Pub}), store.Stored)
	put(t, s, carol.Note(1, "hi"), store.Stored)
	put(t, s, alice.Vanish(10), store.Stored)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a, b, c := numbered(t, s, alice), numbered(t, s, bob), numbered(t, s, carol); a != 1 || b != 0 || c != 1 {
		t.Errorf("known: alice %d, bob %d, carol %d; want 1, 0, 1", a, b, c)
	}
	wantWhole(t, s)
}

// A number that was taken back is not given again while the store is open: a
// reader's statement may have begun before. Whatever comes later, answers name
// the right author, also after a start.
func TestNumbersAreNotGivenTwice(t *testing.T) {
	clock := storetest.NewClock()
	o := storetest.Options(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	number := func(k storetest.Key) int64 {
		t.Helper()
		out, err := events.OnReader(t.Context(), s, "SELECT num FROM pubkeys WHERE key = x'"+k.Pub+"'")
		if err != nil || len(out) != 1 {
			t.Fatalf("%v, %v", out, err)
		}
		return out[0].(int64)
	}
	stays := carol.Note(0, "stays")
	put(t, s, stays, store.Stored)
	put(t, s, expiring(alice, 10), store.Stored)
	was := number(alice)
	clock.Add(11 * time.Second)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	back, other := alice.Note(20, "back"), bob.Note(20, "new")
	put(t, s, other, store.Stored)
	put(t, s, back, store.Stored)
	if a, b := number(alice), number(bob); a <= was || b <= was || a == b {
		t.Errorf("numbers %d and %d after %d was taken back", a, b, was)
	}
	check := func() {
		t.Helper()
		for k, want := range map[storetest.Key]*nostr.Event{alice: back, bob: other, carol: stays} {
			if got := visible(t, s, nostr.Filter{Authors: []string{k.Pub}}); len(got) != 1 || got[0] != want.ID {
				t.Errorf("%s: %v, want %s", k.Pub, got, want.ID)
			}
		}
		wantWhole(t, s)
	}
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = sqlite.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check()
}

// What is undone takes the numbers back that it gave, and the next event by the
// same keys gets new ones.
func TestAnUndoneWriteGivesNoNumber(t *testing.T) {
	s := storetest.MustOpen(t)
	release := events.HoldWriter(s)
	broken, err := events.BeginBroken(t.Context(), s, alice.Note(0, "x", nostr.Tag{"p", bob.Pub}), "error")
	if err != nil {
		t.Fatal(err)
	}
	good, err := s.Begin(t.Context(), carol.Note(0, "x"), store.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	release()
	if r := broken.Wait(); r.Outcome != store.Failed {
		t.Fatalf("%+v", r)
	}
	if r := good.Wait(); r.Outcome != store.Stored {
		t.Fatalf("%+v", r)
	}
	if a, b, c := numbered(t, s, alice), numbered(t, s, bob), numbered(t, s, carol); a != 0 || b != 0 || c != 1 {
		t.Errorf("known: alice %d, bob %d, carol %d; want 0, 0, 1", a, b, c)
	}
	again := alice.Note(1, "x", nostr.Tag{"p", bob.Pub})
	put(t, s, again, store.Stored)
	if got := visible(t, s, nostr.Filter{Tags: nostr.TagMap{"p": {bob.Pub}}}); len(got) != 1 || got[0] != again.ID {
		t.Errorf("%v, want %s", got, again.ID)
	}
	wantWhole(t, s)
}
