package contracts

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/niptemp"
)

// orderOf checks a signed order and returns its lines.
func orderOf(t *testing.T, o Order) []niptemp.OrderItem {
	t.Helper()
	ev, err := wire.ParseEvent(o.Event)
	if err != nil || wire.Verify(ev) != nil || ev.PubKey != storetest.NewKey("relay").Pub {
		t.Fatalf("the order is not signed by the relay: %s (%v)", o.Event, err)
	}
	items, err := niptemp.CheckOrder(ev, o.ContractID, o.Lines)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// rotated holds the relay's key and a former one.
type rotated struct{ storetest.Signer }

func (r rotated) Handovers(context.Context) ([]*nostr.Event, error) {
	ev := niptemp.Handover(r.Pub)
	return []*nostr.Event{&ev}, ev.Sign(storetest.NewKey("relay").Secret)
}

func (r rotated) SignAs(pubkey string, ev *nostr.Event) error {
	if was := storetest.NewKey("relay"); pubkey == was.Pub {
		return ev.Sign(was.Secret)
	}
	return r.Signer.SignAs(pubkey, ev)
}

// TestOrderByTheKeyThatIsAgreed: an offer names the relay's key for the order; it
// signs with that one after a rotation too, as long as it has it.
func TestOrderByTheKeyThatIsAgreed(t *testing.T) {
	w := newWorld(t)
	posts, works := w.provision("anna", anna), w.provision("will", will)
	id := w.in(posts, works, niptemp.Accepted)
	was, is := storetest.NewKey("relay"), storetest.NewKey("relay's next")
	if got := must[Contract](t)(w.Get(t.Context(), posts, id)); got.Agreed.Order == nil || *got.Agreed.Order != was.Pub || got.Offered.Order == nil {
		t.Errorf("agreed is %+v", got.Agreed)
	}
	later := w.in(posts, works, niptemp.Open)
	by := func(id string) string {
		o := must[Order](t)(w.Order(t.Context(), posts, id))
		ev, err := wire.ParseEvent(o.Event)
		if (len(o.Keys) > 0) != (id == later) {
			t.Errorf("the order by %s has %d statements", ev.PubKey, len(o.Keys))
		}
		if err != nil {
			t.Fatal(err)
		}
		return ev.PubKey
	}
	w.threads.relayKeys = rotated{storetest.Signer{Key: is}}
	if got := by(id); got != was.Pub {
		t.Errorf("after a rotation the order is by %s, want %s", got, was.Pub)
	}
	if got := by(later); got != is.Pub {
		t.Errorf("the order of an offer is by %s, want %s", got, is.Pub)
	}
	w.threads.relayKeys = storetest.Signer{Key: is}
	if got := by(id); got != is.Pub {
		t.Errorf("without the former secret it is by %s, want %s", got, is.Pub)
	}
}

// TestFourStepsInOneSecond: the worked example, written over the API within one
// second, is listed in the order of writing and dated correctly.
func TestFourStepsInOneSecond(t *testing.T) {
	w := newWorld(t)
	posts, works := w.provision("anna", anna), w.provision("will", will)
	id := w.in(posts, works, niptemp.Accepted)
	w.clock.Add(second)
	w.say(posts, id, "message", Shared, "clarification")
	w.say(works, id, "message", Shared, "ack")
	w.say(posts, id, "note", PosterOnly, "note to self")
	w.say(works, id, "deliverable", Shared, "deliverable")
	if got := w.texts(posts, id); got != "clarification|ack|note to self|deliverable" {
		t.Errorf("the thread is %s", got)
	}
	p := must[EntryPage](t)(w.Entries(t.Context(), posts, id, EntryQuery{}))
	for _, e := range p.Entries {
		if !e.CreatedAt.Equal(w.clock.Now().Truncate(second)) || !e.ReceivedAt.Equal(e.CreatedAt) {
			t.Errorf("%s is dated %v and received %v at %v", e.Content, e.CreatedAt, e.ReceivedAt, w.clock.Now())
		}
	}
	if e := p.Entries[2]; *e.N != 4 || e.K != 1 {
		t.Errorf("the private entry has n %d and k %d, want behind 4, the first", *e.N, e.K)
	}
	items := orderOf(t, must[Order](t)(w.Order(t.Context(), posts, id)))
	if len(items) != 5 || items[4].ID != *p.Entries[3].NostrEventID {
		t.Errorf("the order is %+v", items)
	}
}

// TestManyEntriesInASecond: of 603 entries that two agents write alternately
// within three seconds none is dated ahead, a reply to them comes last, and the
// next move is accepted at once.
func TestManyEntriesInASecond(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	w := newWorld(t)
	posts, works := w.provision("anna", anna), w.provision("will", will)
	id := w.in(posts, works, niptemp.Accepted)
	w.clock.Add(second)
	for i := range 603 {
		if i%215 == 0 {
			w.clock.Add(time.Second)
		}
		w.say([]Caller{posts, works}[i%2], id, "message", Shared, fmt.Sprint(i))
	}
	w.say(posts, id, "message", Shared, "a reply to all of that")
	var all []Entry
	for offset := 0; offset < 604; {
		p := must[EntryPage](t)(w.Entries(t.Context(), posts, id, EntryQuery{Limit: 500, Offset: offset}))
		if p.Total != 604 || len(p.Entries) == 0 {
			t.Fatalf("%d entries of %d from %d on", len(p.Entries), p.Total, offset)
		}
		all, offset = append(all, p.Entries...), offset+len(p.Entries)
	}
	for i, e := range all {
		if e.CreatedAt.After(w.clock.Now()) || *e.N != int64(i)+3 || i < 603 && e.Content != fmt.Sprint(i) {
			t.Fatalf("entry %d is %q with the number %d, dated %v at %v", i, e.Content, *e.N, e.CreatedAt, w.clock.Now())
		}
	}
	if last := all[603].Content; last != "a reply to all of that" {
		t.Errorf("the last is %q", last)
	}
	w.clock.Add(time.Second)
	wantCode(t, "the next move", w.move(works, id, niptemp.Submitted), 0)
}

// numbered lists the moves that a caller reads, with their numbers and the
// requests that withdrew them.
func (w *world) numbered(c Caller, id string) string {
	w.tb.Helper()
	var out []string
	for _, m := range must[TransitionPage](w.tb)(w.Transitions(w.tb.Context(), c, id, TransitionQuery{})).Transitions {
		text := string(m.Status)
		if m.N != nil {
			text = fmt.Sprint(*m.N, " ", text)
		}
		if m.Withdrawn != nil {
			var ev nostr.Event
			_ = json.Unmarshal(m.Withdrawn.Event, &ev) // "" is told then
			text += " withdrawn by " + ev.ID
		}
		out = append(out, text)
	}
	return strings.Join(out, "|")
}

// TestWithdrawnInADispute: a party withdraws an entry in the middle of a
// dispute. Parties, arbitrator and operator still read it, and that it was
// withdrawn; others do not.
func TestWithdrawnInADispute(t *testing.T) {
	w := newWorld(t)
	posts, works := w.provision("anna", anna), w.provision("will", will)
	id := w.in(posts, works, niptemp.Accepted)
	w.clock.Add(second)
	w.say(posts, id, "message", Shared, "when?")
	w.say(works, id, "message", Shared, "I agree to refund if late")
	operator := holder(oper)
	operator.Operator = true
	takesBack := func() *nostr.Event {
		return w.event(will, 5, "", nostr.Tag{"a", fmt.Sprintf("30090:%s:%s", will.Pub, id)}, nostr.Tag{"a", fmt.Sprintf("30091:%s:%s", will.Pub, id)})
	}
	wantCode(t, "the order, to a stranger", errOf(w.Order(t.Context(), holder(mara), id)), NotFound)
	wantCode(t, "the order, to nobody", errOf(w.Order(t.Context(), Caller{}, id)), Unauthenticated)
	w.clock.Add(second)
	wantCode(t, "dispute", w.move(posts, id, niptemp.Disputed), 0)
	w.clock.Add(second)
	request := takesBack()
	w.mustPut(request)
	for name, c := range map[string]Caller{"poster": posts, "worker": works, "arbitrator": holder(arby), "operator": operator} {
		if got := w.texts(c, id); got != "when?|I agree to refund if late" {
			t.Errorf("the %s reads %s", name, got)
		}
		p := must[EntryPage](t)(w.Entries(t.Context(), c, id, EntryQuery{}))
		said := p.Entries[1]
		var ev nostr.Event
		if said.Withdrawn == nil || json.Unmarshal(said.Withdrawn.Event, &ev) != nil || ev.ID != request.ID {
			t.Errorf("to the %s it is not withdrawn by the request: %+v", name, said.Withdrawn)
		}
		one := must[Entry](t)(w.Entry(t.Context(), c, id, said.EntryID))
		if one.Withdrawn == nil || one.Content != "I agree to refund if late" {
			t.Errorf("the %s reads by its id %+v", name, one)
		}
		if s := must[Summary](t)(w.Summary(t.Context(), c, id)); s.TotalEntries != 2 || s.TotalTransitions != 3 {
			t.Errorf("the %s counts %d, %d moves", name, s.TotalEntries, s.TotalTransitions)
		}
		if got := w.numbered(c, id); got != "1 open|2 accepted withdrawn by "+request.ID+"|5 disputed" {
			t.Errorf("to the %s the moves are %s", name, got)
		}
		if items := orderOf(t, must[Order](t)(w.Order(t.Context(), c, id))); len(items) != 5 {
			t.Errorf("to the %s the order has %d lines", name, len(items))
		}
	}
	for name, c := range map[string]Caller{"nobody": {}, "stranger": holder(mara)} {
		if got := w.texts(c, id); got != "when?" {
			t.Errorf("%s reads %s", name, got)
		}
		if got := w.numbered(c, id); got != "open|disputed" {
			t.Errorf("to %s the moves are %s", name, got)
		}
		for _, e := range must[EntryPage](t)(w.Entries(t.Context(), c, id, EntryQuery{})).Entries {
			if e.N != nil || strings.Contains(fmt.Sprint(e), "withdrawn") {
				t.Errorf("%s learns the number %d", name, *e.N)
			}
		}
	}
	if c := must[Contract](t)(w.Get(t.Context(), posts, id)); c.Status != niptemp.Disputed {
		t.Errorf("the contract is %s", c.Status)
	}
}

// TestTalkLeavesNotesToOneselfOut: while no state is known, notes to oneself
// have numbers of their own; they are in the thread once the contract is open.
func TestTalkLeavesNotesToOneselfOut(t *testing.T) {
	w := newWorld(t)
	const id = "job-of-another-platform"
	w.mustPut(w.entryOf(anna, id, anna.Pub, "note", "think of the price"))
	w.mustPut(w.entryOf(anna, id, will.Pub, "message", "are you free?"))
	for _, k := range []Caller{holder(anna), holder(will)} {
		if got := w.texts(k, id); got != "are you free?" {
			t.Errorf("read are %s", got)
		}
		if items := orderOf(t, must[Order](t)(w.Order(t.Context(), k, id))); len(items) != 1 {
			t.Errorf("the order is %+v", items)
		}
		if got := must[Summary](t)(w.Summary(t.Context(), k, id)); got.TotalEntries != 1 {
			t.Errorf("the summary counts %d", got.TotalEntries)
		}
	}
	w.mustPut(w.stateOf(anna, id, will.Pub, niptemp.Open, "", "a job"))
	if got := w.texts(holder(will), id); got != "think of the price|are you free?" {
		t.Errorf("read are then %s", got)
	}
	if items := orderOf(t, must[Order](t)(w.Order(t.Context(), holder(will), id))); len(items) != 3 {
		t.Errorf("the order is then %+v", items)
	}
}
