package events_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

func TestDeletionByID(t *testing.T) {
	s := storetest.MustOpen(t)
	note := alice.Note(0, "hello")
	put(t, s, note, store.Stored)
	put(t, s, bob.Delete(1, note.ID), store.Stored)
	if !isHead(t, s, note) {
		t.Fatal("a stranger's request deleted it")
	}
	req := alice.Delete(2, note.ID)
	put(t, s, req, store.Stored)
	if isHead(t, s, note) || rows(t, s, "tags WHERE seq = 1") != 0 {
		t.Fatal("still there")
	}
	if !isHead(t, s, req) {
		t.Error("the request is not stored")
	}
	if r := put(t, s, note, store.Deleted); r.Message() != store.WhyDeleted.Error() {
		t.Errorf("message %q", r.Message())
	}
	restore(t, s, note, store.Deleted)
	wantWhole(t, s)
}

func TestDeletionBeforeTheEventBindsItsAuthorOnly(t *testing.T) {
	s := storetest.MustOpen(t)
	note := alice.Note(0, "hello")
	put(t, s, bob.Delete(1, note.ID, storetest.Address(alice.Engram(bob, 0, "mem/a"))), store.Stored)
	put(t, s, note, store.Stored)
	put(t, s, alice.Engram(bob, 0, "mem/a"), store.Stored)

	other := alice.Note(0, "other")
	put(t, s, alice.Delete(1, other.ID), store.Stored)
	put(t, s, other, store.Deleted)
}

func TestDeletionOfDeletionsAndVanishesHasNoEffect(t *testing.T) {
	s := storetest.MustOpen(t)
	note := alice.Note(0, "hello")
	first := alice.Delete(1, note.ID)
	vanish := bob.Vanish(0)
	put(t, s, first, store.Stored)
	put(t, s, vanish, store.Stored)
	put(t, s, alice.Delete(2, first.ID), store.Stored)
	put(t, s, bob.Delete(3, vanish.ID), store.Stored)
	if !isHead(t, s, first) || !isHead(t, s, vanish) {
		t.Error("a request was deleted")
	}
	put(t, s, note, store.Deleted)
	put(t, s, bob.Note(0, "old"), store.Deleted)

	// Neither when the deletion comes first.
	later := alice.Delete(5, "0000000000000000000000000000000000000000000000000000000000000000")
	put(t, s, alice.Delete(4, later.ID), store.Stored)
	put(t, s, later, store.Stored)
}

func TestDeletionByAddress(t *testing.T) {
	s := storetest.MustOpen(t)
	for i := range int64(4) {
		s.Put(t.Context(), alice.Engram(bob, i*10, "mem/a"), store.PutOptions{})
	}
	addr := storetest.Address(alice.Engram(bob, 0, "mem/a"))
	put(t, s, bob.Delete(100, addr), store.Stored)
	if rows(t, s, "events WHERE kind = 30174") != 1 || rows(t, s, "history") != 3 {
		t.Fatal("a stranger's request deleted something")
	}
	// Up to its time: versions 0 to 20 go, the head at 30 stays.
	put(t, s, alice.Delete(20, addr), store.Stored)
	if rows(t, s, "events WHERE kind = 30174") != 1 || rows(t, s, "history") != 0 {
		t.Error("versions up to the request's time are still there, or the head is not")
	}
	put(t, s, alice.Engram(bob, 20, "mem/a"), store.Deleted)
	put(t, s, alice.Delete(30, addr), store.Stored)
	if rows(t, s, "events WHERE kind = 30174") != 0 {
		t.Error("the head is still there")
	}
	// An older request does not lower the bar; a later write revives the
	// address.
	put(t, s, alice.Delete(5, addr), store.Stored)
	put(t, s, alice.Engram(bob, 30, "mem/a"), store.Deleted)
	put(t, s, alice.Engram(bob, 31, "mem/a"), store.Stored)
	wantWhole(t, s)
}

func TestDeletionAddressForms(t *testing.T) {
	profile := alice.Fake(0, 0, "{}")
	colons := alice.Fake(30023, 0, "", nostr.Tag{"d", "a:b:c"})
	for target, gone := range map[string]*nostr.Event{
		"0:" + alice.Pub + ":":              profile,
		"0:" + alice.Pub:                    profile,
		"30023:" + alice.Pub + ":a:b:c":     colons,
		"0:" + alice.Pub + ":x":             nil,
		"00:" + alice.Pub + ":":             nil,
		"+0:" + alice.Pub + ":":             nil,
		"0:" + bob.Pub + ":":                nil,
		"30023:" + alice.Pub:                nil,
		"30023:" + alice.Pub + ":a":         nil,
		"1:" + alice.Pub + ":":              nil,
		"":                                  nil,
		"0:" + strings.ToUpper(alice.Pub):   nil,
		"-1:" + alice.Pub + ":":             nil,
		"99999999999999999999:" + alice.Pub: nil,
	} {
		s := storetest.MustOpen(t)
		put(t, s, profile, store.Stored)
		put(t, s, colons, store.Stored)
		put(t, s, alice.Fake(5, 1, "", nostr.Tag{"a", target}), store.Stored)
		for _, ev := range []*nostr.Event{profile, colons} {
			if here := isHead(t, s, ev); here != (ev != gone) {
				t.Errorf("a %q: kind %d is here: %v", target, ev.Kind, here)
			}
		}
	}
}

func TestMalformedDeletionTargetsAreIgnored(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.Fake(5, 0, "", nostr.Tag{"e", "xyz"}, nostr.Tag{"e"}, nostr.Tag{"a"}, nostr.Tag{"e", ""}), store.Stored)
	if n := rows(t, s, "deleted_ids") + rows(t, s, "deleted_addresses"); n != 0 {
		t.Errorf("%d tombstones", n)
	}
}

// What remains of an address whose head went is history only and never becomes
// head again.
func TestWhatRemainsIsHistoryOnly(t *testing.T) {
	s := storetest.MustOpen(t)
	v1, v2, v3 := alice.Engram(bob, 10, "mem/a"), alice.Engram(bob, 20, "mem/a"), alice.Engram(bob, 30, "mem/a")
	put(t, s, v1, store.Stored)
	put(t, s, v2, store.Replaced)
	put(t, s, v3, store.Replaced)
	put(t, s, alice.Delete(40, v3.ID), store.Stored)
	if rows(t, s, "events WHERE kind = 30174") != 0 || !isHistory(t, s, v1) || !isHistory(t, s, v2) {
		t.Fatal("want no head and two versions in history")
	}
	put(t, s, v2, store.Duplicate)
	put(t, s, v3, store.Deleted)
	// Neither may a version become head that is older than what history holds.
	put(t, s, alice.Engram(bob, 15, "mem/a"), store.Stale)
	if rows(t, s, "events WHERE kind = 30174") != 0 {
		t.Fatal("an old version became head")
	}
	// By id, one version of history goes and the others stay.
	put(t, s, alice.Delete(41, v1.ID), store.Stored)
	if isHistory(t, s, v1) || !isHistory(t, s, v2) {
		t.Error("want v1 gone and v2 kept")
	}
	put(t, s, alice.Engram(bob, 25, "mem/a"), store.Stored)
	wantWhole(t, s)
}

func TestAnotherAuthorsHistoryCannotBeDeleted(t *testing.T) {
	s := storetest.MustOpen(t)
	v1 := alice.Engram(bob, 0, "mem/a")
	put(t, s, v1, store.Stored)
	put(t, s, alice.Engram(bob, 1, "mem/a"), store.Replaced)
	put(t, s, bob.Delete(2, v1.ID), store.Stored)
	if !isHistory(t, s, v1) {
		t.Error("the owner deleted the agent's version")
	}
}

// A gift wrap goes when its one recipient asks for it (NIP-59), whichever of the two
// comes first, and does not come back. One that is for several, or for others, and
// what is no gift wrap stays.
func TestRecipientsDeleteGiftWraps(t *testing.T) {
	s := storetest.MustOpen(t)
	to := func(k storetest.Key) nostr.Tag { return nostr.Tag{"p", k.Pub} }
	at := int64(0)
	of := func(kind int, tags ...nostr.Tag) *nostr.Event {
		at++
		return carol.Fake(kind, at, storetest.Payload("w"), tags...)
	}
	for name, c := range map[string]struct {
		event *nostr.Event
		gone  bool
	}{
		"for him":                   {of(1059, to(bob)), true},
		"for him, with a relay":     {of(1059, nostr.Tag{"p", bob.Pub, "wss://relay.example"}, nostr.Tag{"e", nowhere}), true},
		"for him and another":       {of(1059, to(bob), to(alice)), false},
		"for him twice":             {of(1059, to(bob), to(bob)), false},
		"for him and for no key":    {of(1059, nostr.Tag{"p", "x"}, to(bob)), false},
		"for him, with a bare p":    {of(1059, to(bob), nostr.Tag{"p"}), false},
		"for another":               {of(1059, to(alice)), false},
		"for nobody":                {of(1059), false},
		"a message to him":          {of(4, to(bob)), false},
		"what an agent's turn cost": {of(44200, to(bob)), false},
	} {
		again := *c.event
		again.Content, again.CreatedAt = storetest.Payload("again"), again.CreatedAt+1000
		again.ID = again.GetID()
		outcome, after := store.Duplicate, store.Stored
		if c.gone {
			outcome, after = store.Deleted, store.Deleted
		}
		put(t, s, c.event, store.Stored)
		put(t, s, bob.Delete(at+1, c.event.ID, again.ID), store.Stored)
		if here := isHead(t, s, c.event); here == c.gone {
			t.Errorf("%s: it is here: %v", name, here)
		}
		put(t, s, c.event, outcome)
		restore(t, s, c.event, outcome)
		put(t, s, &again, after)
		restore(t, s, &again, map[bool]store.Outcome{true: store.Deleted, false: store.Duplicate}[c.gone])
	}
	wrap := of(1059, to(bob))
	put(t, s, wrap, store.Stored)
	wantClass(t, s, "a wrap for its author", bob.Delete(5000, wrap.ID), gate.Deletion)
	wantClass(t, s, "the wrap again", bob.Delete(5001, wrap.ID), gate.Deletion)
	own := of(1059, to(bob))
	put(t, s, own, store.Stored)
	put(t, s, carol.Delete(5002, own.ID), store.Stored)
	if isHead(t, s, own) {
		t.Error("who made it cannot delete it")
	}
	wantWhole(t, s)
}

// A request that takes several transactions keeps gift wraps out from the first on.
func TestALongDeletionKeepsGiftWrapsOut(t *testing.T) {
	var s *sqlite.Store
	wrap := func(k storetest.Key, at int64) *nostr.Event {
		return carol.Sign(1059, at, storetest.Payload("w"), nostr.Tag{"p", k.Pub})
	}
	late, others := wrap(bob, 1), wrap(alice, 2)
	tags := nostr.Tags{}
	for i := range 2500 {
		tags = append(tags, nostr.Tag{"e", fmt.Sprintf("%064x", i)})
	}
	request := bob.Sign(5, 1000, "", append(tags, nostr.Tag{"e", late.ID}, nostr.Tag{"e", others.ID})...)
	var came []store.Pending
	s = storetest.MustOpen(t, func(o *sqlite.Options) {
		o.OnCommit = func(batch []store.Committed) {
			for _, c := range batch {
				if c.Event.ID != request.ID {
					continue
				}
				if n := rows(t, s, "deleted_ids"); n > 600 {
					t.Errorf("%d rows are written with the request: the test says little", n)
				}
				for i, ev := range []*nostr.Event{late, others} {
					p, err := s.Begin(client(t, "192.0.2.2", uint64(i)), ev, store.PutOptions{})
					if err != nil {
						t.Error(err)
						return
					}
					came = append(came, p)
				}
			}
		}
	})
	put(t, s, request, store.Stored)
	for i, want := range []store.Outcome{store.Deleted, store.Stored} {
		if r := came[i].Wait(); r.Outcome != want {
			t.Errorf("number %d: %+v", i, r)
		}
	}
	put(t, s, late, store.Deleted)
	wantWhole(t, s)
}
