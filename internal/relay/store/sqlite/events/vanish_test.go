package events_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

func TestVanishRemovesEverythingUpToItsTime(t *testing.T) {
	s := storetest.MustOpen(t)
	note, later := alice.Note(0, "hello"), alice.Note(101, "later")
	engram := alice.Engram(bob, 0, "mem/a")
	wrap := bob.Fake(1059, 50, storetest.Payload("w"), nostr.Tag{"p", alice.Pub})
	late := bob.Fake(1059, 150, storetest.Payload("w2"), nostr.Tag{"p", alice.Pub})
	mention := bob.Note(1, "hi", nostr.Tag{"p", alice.Pub})
	deletion := alice.Delete(3, alice.Note(2, "x").ID)
	for _, ev := range []*nostr.Event{note, later, engram, wrap, late, mention, deletion, alice.Vanish(10)} {
		if r := s.Put(t.Context(), ev, store.PutOptions{}); r.Outcome != store.Stored {
			t.Logf("kind %d: %+v", ev.Kind, r)
		}
	}
	put(t, s, engram, store.Deleted) // the first vanish took it
	put(t, s, alice.Engram(bob, 20, "mem/a"), store.Stored)
	put(t, s, alice.Engram(bob, 30, "mem/a"), store.Replaced)
	req := alice.Vanish(100)
	put(t, s, req, store.Stored)

	if n := rows(t, s, "events WHERE pubkey = x'%s'", alice.Pub); n != 2 || !isHead(t, s, req) || !isHead(t, s, later) {
		t.Errorf("%d of her events are left, want the request and what is later", n)
	}
	if n := rows(t, s, "history"); n != 0 {
		t.Errorf("%d versions left", n)
	}
	if isHead(t, s, wrap) || !isHead(t, s, late) || !isHead(t, s, mention) {
		t.Error("want the gift wrap up to the request's time gone, and nothing else of others")
	}
	for _, ev := range []*nostr.Event{note, engram, deletion, wrap, alice.Vanish(10), alice.Note(100, "same second")} {
		if r := put(t, s, ev, store.Deleted); r.Message() != store.WhyDeleted.Error() {
			t.Errorf("message %q", r.Message())
		}
		restore(t, s, ev, store.Deleted)
	}
	put(t, s, req, store.Duplicate)
	put(t, s, alice.Note(102, "back again"), store.Stored)
	wantWhole(t, s)
}

func TestVanishOfAnOlderTimeDoesNotLowerTheBar(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.Vanish(100), store.Stored)
	put(t, s, alice.Vanish(50), store.Deleted)
	put(t, s, alice.Note(80, "x"), store.Deleted)
}

// fill stores n notes in few transactions.
func fill(t *testing.T, s *sqlite.Store, n int, make func(i int64) *nostr.Event) {
	t.Helper()
	var last store.Pending
	for i := range int64(n) {
		p, err := s.Begin(t.Context(), make(i), store.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		last = p
	}
	if r := last.Wait(); r.Outcome != store.Stored {
		t.Fatalf("%+v", r)
	}
}

// A vanish of many events goes in chunks: others write in between, and the
// answer comes after the last.
func TestALargeVanishLetsOthersWrite(t *testing.T) {
	var order []int
	s := storetest.MustOpen(t, func(o *sqlite.Options) {
		o.OnCommit = func(list []store.Committed) {
			for _, c := range list {
				order = append(order, c.Event.Kind)
			}
		}
	})
	fill(t, s, 3*events.VanishChunk, func(i int64) *nostr.Event { return alice.Note(i, "x") })
	fill(t, s, events.VanishChunk, func(i int64) *nostr.Event {
		return bob.Fake(1059, i, storetest.Payload("x"), nostr.Tag{"p", alice.Pub})
	})
	release := events.HoldWriter(s)
	vanish, err := s.Begin(t.Context(), alice.Vanish(1_000_000), store.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	release()
	other := put(t, s, bob.Fake(7, 0, "+"), store.Stored)
	if r := vanish.Wait(); r.Outcome != store.Stored || r.Seq >= other.Seq {
		t.Errorf("vanish %+v, other %+v", r, other)
	}
	if n, left := rows(t, s, "events"), rows(t, s, "tags"); n != 2 || left != 0 {
		t.Errorf("%d events and %d tags are left, want the request and Bob's", n, left)
	}
	if n := rows(t, s, "vanished WHERE request IS NOT NULL"); n != 0 {
		t.Error("the request is not marked as done")
	}
	wantWhole(t, s)
}

// cutShort closes the store while the writer is at a request, and opens it
// again.
func cutShort(t *testing.T, s *sqlite.Store, o sqlite.Options, request *nostr.Event) *sqlite.Store {
	t.Helper()
	release := events.HoldWriter(s)
	p, err := s.Begin(t.Context(), request, store.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	if err := events.WaitClosing(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	release()
	if r := p.Wait(); r.Outcome != store.Failed || r.Err != store.ErrClosed {
		t.Errorf("cut short: %+v", r)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	s, err = sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A vanish cut short by the end of the process is finished before the store is
// open again.
func TestVanishIsFinishedAtTheNextOpen(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, 2*events.VanishChunk, func(i int64) *nostr.Event { return alice.Note(i, "x") })
	put(t, s, bob.Note(0, "stays"), store.Stored)
	req := alice.Vanish(1_000_000)
	s = cutShort(t, s, o, req)
	defer s.Close()
	if n := rows(t, s, "events"); n != 2 || !isHead(t, s, req) {
		t.Errorf("%d events, want Bob's and the request", n)
	}
	put(t, s, req, store.Duplicate)
	wantWhole(t, s)
}
