package events_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
)

func TestPutStoresOnce(t *testing.T) {
	s := storetest.MustOpen(t)
	ev := alice.Note(0, "hello")
	if r := put(t, s, ev, store.Stored); r.Seq != s.LastSeq() || r.Message() != "" {
		t.Errorf("first: %+v, last seq %d", r, s.LastSeq())
	}
	if r := put(t, s, ev, store.Duplicate); r.Message() != "duplicate: already have this event" {
		t.Errorf("second: %+v", r)
	}
	wantWhole(t, s)
}

func TestPutRefusesAMalformedEvent(t *testing.T) {
	s := storetest.MustOpen(t)
	for name, change := range map[string]func(*nostr.Event){
		"short id":          func(ev *nostr.Event) { ev.ID = ev.ID[1:] },
		"upper-case id":     func(ev *nostr.Event) { ev.ID = "A" + ev.ID[1:] },
		"upper-case pubkey": func(ev *nostr.Event) { ev.PubKey = "A" + ev.PubKey[1:] },
	} {
		ev := alice.Note(0, "hello")
		change(ev)
		if r := s.Put(t.Context(), ev, store.PutOptions{}); r.Outcome != store.Failed || r.Err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Of several reasons against an event the first in apply's order is the answer:
// an event that is both deleted and older than the head is deleted.
func TestOutcomesComeInOrder(t *testing.T) {
	s := storetest.MustOpen(t)
	old, head := alice.Engram(bob, 0, "mem/a"), alice.Engram(bob, 10, "mem/a")
	deleted := alice.Engram(bob, 5, "mem/a")
	put(t, s, old, store.Stored)
	put(t, s, head, store.Replaced)
	put(t, s, alice.Delete(20, deleted.ID), store.Stored)

	for _, c := range []struct {
		name    string
		ev      *nostr.Event
		want    store.Outcome
		message string
	}{
		{"the head itself", head, store.Duplicate, store.WhyDuplicate.Error()},
		{"in history, although older than the head", old, store.Duplicate, store.WhyDuplicate.Error()},
		{"deleted before it came, although older than the head", deleted, store.Deleted, "blocked: deleted by its author"},
		{"older than the head", alice.Engram(bob, 6, "mem/a"), store.Stale, "duplicate: a newer version is stored"},
		{"newer than the head", alice.Engram(bob, 11, "mem/a"), store.Replaced, ""},
	} {
		if r := put(t, s, c.ev, c.want); r.Message() != c.message {
			t.Errorf("%s: message %q, want %q", c.name, r.Message(), c.message)
		}
	}
	wantWhole(t, s)
}

func TestOutcomeLabels(t *testing.T) {
	for o, want := range map[store.Outcome]string{
		store.Stored: "stored", store.Replaced: "replaced", store.Duplicate: "duplicate", store.Stale: "stale",
		store.Deleted: "deleted", store.Refused: "refused", store.Failed: "failed", -1: "unknown",
	} {
		if o.String() != want {
			t.Errorf("%d: %s, want %s", int(o), o, want)
		}
		if ok := o == store.Stored || o == store.Replaced || o == store.Duplicate; o.OK() != ok {
			t.Errorf("%s: OK %v", o, o.OK())
		}
	}
}
