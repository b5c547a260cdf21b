package events_test

import (
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// base is the option for a write that is made for this head, "" for none.
func base(t testing.TB, id string) store.PutOptions {
	t.Helper()
	var b [32]byte
	if _, err := hex.Decode(b[:], []byte(id)); err != nil {
		t.Fatal(err)
	}
	return store.PutOptions{Base: &b}
}

func TestCompareAndSet(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	engram := func(at int64, slug string) *nostr.Event { return alice.Engram(bob, at, slug) }
	want := func(ev *nostr.Event, id string, outcome store.Outcome) {
		t.Helper()
		r := s.Put(t.Context(), ev, base(t, id))
		if r.Outcome != outcome || (outcome == store.Conflict) != (r.Message() == store.WhyConflict.Error()) {
			t.Errorf("%v %q, want %v", r.Outcome, r.Message(), outcome)
		}
	}
	first, second, third := engram(10, "a"), engram(20, "a"), engram(30, "a")
	want(second, first.ID, store.Conflict) // there is nothing
	want(first, "", store.Stored)
	want(first, "", store.Duplicate) // sent again after an answer that was lost
	want(second, "", store.Conflict) // there is something
	want(second, third.ID, store.Conflict)
	want(second, first.ID, store.Replaced)
	want(engram(15, "a"), second.ID, store.Conflict) // older than the head it was made for
	want(third, first.ID, store.Conflict)            // the base is history by now
	want(first, second.ID, store.Duplicate)          // history too is held
	put(t, s, third, store.Replaced)                 // and without a base nothing is asked
	// Other addresses are nobody's business, and regular events have none.
	want(engram(5, "b"), "", store.Stored)
	want(alice.Note(5, "note"), "", store.Conflict)
	want(alice.Fake(0, 5, "profile"), "", store.Stored)

	// A head that was deleted is none; what is older than what it superseded
	// never becomes head.
	put(t, s, alice.Delete(40, storetest.Address(third)), store.Stored)
	want(engram(35, "a"), "", store.Deleted)
	want(engram(50, "a"), "", store.Stored)
	wantWhole(t, s)
}

// TestOneOfManyWins has writers with one base at the same time, over and over.
func TestOneOfManyWins(t *testing.T) {
	s := storetest.MustOpen(t)
	head := ""
	for round := range 1000 {
		var won atomic.Int32
		var next atomic.Pointer[string]
		var all sync.WaitGroup
		for i := range 6 {
			ev := alice.Engram(bob, int64(round+1), "same")
			ev = alice.Sign(ev.Kind, int64(round+1), storetest.Payload(fmt.Sprint(round, i)), ev.Tags...)
			all.Go(func() {
				if r := s.Put(t.Context(), ev, base(t, head)); r.Outcome.OK() {
					won.Add(1)
					next.Store(&ev.ID)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Fatalf("round %d: %d of six won", round, won.Load())
		}
		head = *next.Load()
	}
}
