package contracts

import (
	"strings"
	"testing"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

// TestRefusalsAreToldToParties: the two parties see which relay refused an
// entry, and why, in pages and single entries; nobody else learns where entries
// are sent.
func TestRefusalsAreToldToParties(t *testing.T) {
	w := newWorld(t)
	posts, works := w.provision("anna", anna), w.provision("will", will)
	id := w.in(posts, works, niptemp.Accepted)
	e := w.say(posts, id, "message", Shared, "hello")
	ev, err := wire.ParseEvent(must[Entry](t)(w.Entry(t.Context(), posts, id, e.EntryID)).Event)
	if err != nil {
		t.Fatal(err)
	}
	const north = "wss://relay:secret@north.example"
	if err := w.store.Tell(t.Context(), store.QueueEvent{Event: wire.AppendEvent(nil, ev), Targets: []string{store.OutboxLocal, north}}); err != nil {
		t.Fatal(err)
	}
	for target, final := range map[string]bool{store.OutboxLocal: false, north: true} {
		if err := w.store.OutboxRefused(t.Context(), target, ev, "blocked", final); err != nil {
			t.Fatal(err)
		}
	}
	at := w.clock.Now().UTC()
	want := []RelayRefusal{{Relay: "this relay", Reason: "blocked", At: at}, {Relay: "wss://north.example", Reason: "blocked", At: at, Final: true}}
	for name, c := range map[string]Caller{"poster": posts, "worker": works, "nobody": {}, "stranger": holder(mara), "operator": {PubKey: oper.Pub, Operator: true}} {
		n := 0
		if name == "poster" || name == "worker" {
			n = 2
		}
		page := must[EntryPage](t)(w.Entries(t.Context(), c, id, EntryQuery{}))
		one := must[Entry](t)(w.Entry(t.Context(), c, id, e.EntryID))
		for what, got := range map[string][]RelayRefusal{"a page": page.Entries[0].Refusals, "one": one.Refusals} {
			if len(got) != n || n == 2 && (got[0] != want[0] || got[1] != want[1]) {
				t.Errorf("%s, %s: %+v", name, what, got)
			}
		}
	}
}

// TestEventsFitAMessage: an event that is too large to send to readers is
// refused, whoever signs it; a private entry is no event.
func TestEventsFitAMessage(t *testing.T) {
	w := newWorld(t)
	posts, works := w.provision("anna", anna), w.provision("will", will)
	id := w.in(posts, works, niptemp.Accepted)
	w.clock.Add(second)
	escaped := strings.Repeat("\x01", 40_000) // 280 KB in an event
	wantCode(t, "signed here", errOf(w.Say(t.Context(), posts, id, EntryRequest{Type: "note", Content: escaped})), TooLarge)
	ev := w.entryOf(anna, id, will.Pub, "note", escaped)
	wantCode(t, "signed elsewhere", errOf(w.Say(t.Context(), holder(anna), id, EntryRequest{Type: "note", Content: escaped, Event: raw(ev)})), TooLarge)
	wantCode(t, "private", errOf(w.Say(t.Context(), posts, id, EntryRequest{Type: "note", Visibility: PosterOnly, Content: escaped})), 0)
	wantCode(t, "a move", errOf(w.Move(t.Context(), works, id, MoveRequest{Status: niptemp.Submitted, Note: escaped})), TooLarge)
	wantCode(t, "an offer", errOf(w.Create(t.Context(), posts, CreateRequest{Description: escaped})), TooLarge)
	whole := w.entryOf(anna, id, will.Pub, "note", "small")
	size := len(raw(whole)) + len(`["EVENT",]`)
	for limit, want := range map[int]Code{size: 0, size - 1: TooLarge} {
		w.SetEventLimit(limit)
		wantCode(t, "at the limit", errOf(w.Say(t.Context(), holder(anna), id, EntryRequest{Type: "note", Content: "small", Event: raw(whole)})), want)
	}
}
