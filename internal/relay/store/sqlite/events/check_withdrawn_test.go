package events_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
)

// What came after its author had deleted it, by its id, is kept as history above
// an older head; that it stands in no thread does not make it damage.
func TestCheckKnowsWhatWasWithdrawnFromNoThread(t *testing.T) {
	s := storetest.MustOpen(t)
	entry := func(at int64) *nostr.Event {
		return alice.Fake(30090, at, "no contract", nostr.Tag{"d", "y"}, nostr.Tag{"p", bob.Pub})
	}
	put(t, s, entry(1), store.Stored)
	put(t, s, alice.Delete(2, entry(3).ID), store.Stored)
	s.Put(t.Context(), entry(3), store.PutOptions{Import: true})
	if !isHead(t, s, entry(1)) || isHead(t, s, entry(3)) {
		t.Error("the deleted one is the head")
	}
	wantWhole(t, s)
}
