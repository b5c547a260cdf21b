package events_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// order notes what was committed, in order, and in how many events a time.
type order struct {
	mu      sync.Mutex
	ids     []string
	batches []int
}

func (o *order) committed(batch []store.Committed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range batch {
		o.ids = append(o.ids, c.Event.ID)
	}
	o.batches = append(o.batches, len(batch))
}

// client is a context of one connection of an address.
func client(t *testing.T, address string, conn uint64) context.Context {
	return fairness.With(t.Context(), fairness.Who{Share: address, Conn: conn})
}

// tagged is a note with n rows in the tag index.
func tagged(k storetest.Key, at int64, n int) *nostr.Event {
	tags := make(nostr.Tags, n)
	for i := range tags {
		tags[i] = nostr.Tag{"t", fmt.Sprint(at, "-", i)}
	}
	return k.Note(at, "tagged", tags...)
}

// An address that has much waiting does not hold up another, whatever its
// connections are, and neither does one connection of an address another of it.
// What a connection sent is stored in its order.
func TestWriterIsFair(t *testing.T) {
	var seen order
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.OnCommit = seen.committed })
	release := events.HoldWriter(s)
	var all []store.Pending
	begin := func(ctx context.Context, ev *nostr.Event) *nostr.Event {
		p, err := s.Begin(ctx, ev, store.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
		return ev
	}
	for conn := range uint64(8) {
		for i := range int64(3) {
			begin(client(t, "192.0.2.1", conn), tagged(alice, 100*int64(conn)+i, 1000))
		}
	}
	first, second := bob.Note(0, "first"), bob.Note(1, "second")
	begin(client(t, "192.0.2.2", 100), first)
	begin(client(t, "192.0.2.2", 100), second)
	late := begin(client(t, "192.0.2.1", 101), carol.Note(0, "of the same address"))
	release()
	for _, p := range all {
		if r := p.Wait(); r.Outcome != store.Stored {
			t.Fatalf("%+v", r)
		}
	}
	at := func(ev *nostr.Event) int { return slices.Index(seen.ids, ev.ID) }
	if at(first) > 1 || at(second) > 2 || at(second) < at(first) {
		t.Errorf("another address's events are stored as numbers %d and %d", at(first), at(second))
	}
	if at(late) > 10 {
		t.Errorf("another connection's event is stored as number %d", at(late))
	}
	if seen.batches[0] > 8 {
		t.Errorf("%d events share the first transaction, of which others wait for the end", seen.batches[0])
	}
	for conn := range int64(8) {
		var mine []int
		for i := range int64(3) {
			mine = append(mine, at(tagged(alice, 100*conn+i, 1000)))
		}
		if !slices.IsSorted(mine) {
			t.Errorf("connection %d: stored in the order %v", conn, mine)
		}
	}
}

// A share that fills the queue leaves room for others, and a connection always
// finds a place for one event.
func TestFullQueueTakesOthers(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.MaxQueue = 8 })
	release := events.HoldWriter(s)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	begin := func(who fairness.Who) bool {
		_, err := s.Begin(fairness.With(ended, who), alice.Note(int64(who.Conn), who.Share), store.PutOptions{})
		return err == nil
	}
	fill := func(who fairness.Who) (n int) {
		for begin(who) {
			n++
		}
		return n
	}
	if n := fill(fairness.Who{Share: "a", Conn: 1}); n != 8 {
		t.Errorf("the first finds room for %d", n)
	}
	if n := fill(fairness.Who{Share: "a", Conn: 2}); n != 1 {
		t.Errorf("another connection of it finds room for %d", n)
	}
	if n := fill(fairness.Who{Share: "b", Conn: 3}); n != 4 {
		t.Errorf("the second finds room for %d", n)
	}
	if n := fill(fairness.Who{Share: "c", Conn: 4}); n != 2 {
		t.Errorf("the third finds room for %d", n)
	}
	if n := fill(fairness.Who{Share: "a", Conn: 1}); n != 0 {
		t.Errorf("the first finds room for %d more", n)
	}
	release()
	put(t, s, bob.Note(0, "x"), store.Stored)
}
