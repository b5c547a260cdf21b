package contracts

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/niptemp"
)

// TestLateEntries: entries dated before the end of a contract arrive after it.
func TestLateEntries(t *testing.T) {
	w := newWorld(t)
	posts, works := holder(anna), w.provision("will", will)
	id := w.in(w.provision("anna", anna), works, niptemp.Submitted)
	w.clock.Add(second)
	early := w.entryOf(anna, id, will.Pub, "message", "written in time")
	w.clock.Add(second)
	wantCode(t, "complete", w.move(w.provision("anna", anna), id, niptemp.Completed), 0)
	w.clock.Add(second)
	late := w.entryOf(anna, id, will.Pub, "message", "too late")
	say := func(ev *nostr.Event, text string) error {
		return errOf(w.Say(t.Context(), posts, id, EntryRequest{Type: "message", Content: text, Event: raw(ev)}))
	}
	posts.AgentID = "anna"
	wantCode(t, "an entry dated after the end", say(late, "too late"), Conflict)
	wantCode(t, "an entry dated before it", say(early, "written in time"), 0)
	wantCode(t, "the same again", say(early, "written in time"), 0)
	wantCode(t, "of the server's date", errOf(w.Say(t.Context(), works, id, EntryRequest{Type: "message", Content: "x"})), Conflict)
	page := must[EntryPage](t)(w.Entries(t.Context(), works, id, EntryQuery{}))
	if page.Total != 1 || page.Entries[0].ReceivedAt.Sub(page.Entries[0].CreatedAt) != 2*second {
		t.Errorf("backdating does not show: %+v", page)
	}
}

// TestAllRevisionsAreThere writes many entries of one author, in any order: the
// relay has one head, the API all, in the order of arrival.
func TestAllRevisionsAreThere(t *testing.T) {
	w := newWorld(t)
	posts, works := w.provision("anna", anna), w.provision("will", will)
	id := w.in(posts, works, niptemp.Accepted)
	w.clock.Add(100 * second)
	base := w.clock.Now().Unix()
	for _, k := range []int64{3, 1, 5, 2, 4} { // late ones become history at once
		ev := w.entryOf(will, id, anna.Pub, "revision", fmt.Sprint("v", k))
		ev.CreatedAt = nostr.Timestamp(base - 50 + k)
		if err := ev.Sign(will.Secret); err != nil {
			t.Fatal(err)
		}
		w.put(ev)
	}
	for range 3 { // within a second
		w.say(works, id, "message", Shared, "quick")
	}
	w.say(posts, id, "message", Shared, "of the poster")
	if got := w.texts(Caller{}, id); got != "v3|v1|v5|v2|v4|quick|quick|quick|of the poster" {
		t.Errorf("the thread is %s", got)
	}
	for _, q := range []struct {
		EntryQuery
		want int
	}{
		{EntryQuery{Type: "revision"}, 5}, {EntryQuery{Author: "anna"}, 1}, {EntryQuery{Author: will.Pub}, 8}, {EntryQuery{Author: "unknown"}, 0},
		{EntryQuery{Visibility: Shared}, 9}, {EntryQuery{Visibility: WorkerOnly}, 0}, {EntryQuery{Author: "will", Type: "message"}, 3},
	} {
		if p := must[EntryPage](t)(w.Entries(t.Context(), Caller{}, id, q.EntryQuery)); p.Total != q.want || len(p.Entries) != q.want {
			t.Errorf("%+v: %d entries of %d, want %d", q.EntryQuery, len(p.Entries), p.Total, q.want)
		}
	}
	p := must[EntryPage](t)(w.Entries(t.Context(), Caller{}, id, EntryQuery{Limit: 2, Offset: 3, Events: true}))
	if p.Total != 9 || len(p.Entries) != 2 || p.Entries[0].Content != "v2" || p.Entries[1].Content != "v4" || !strings.Contains(string(p.Entries[0].Event), *p.Entries[0].NostrEventID) {
		t.Errorf("a page is %+v", p)
	}
	// An entry that its author deletes is gone for others, and shown as withdrawn
	// to the parties.
	w.clock.Add(second)
	del := w.event(will, 5, "", nostr.Tag{"a", fmt.Sprintf("30090:%s:%s", will.Pub, id)})
	w.mustPut(del)
	if got := w.texts(Caller{}, id); got != "of the poster" {
		t.Errorf("after deletion: %s", got)
	}
	for _, c := range []Caller{posts, works} {
		p := must[EntryPage](t)(w.Entries(t.Context(), c, id, EntryQuery{}))
		for i, e := range p.Entries {
			if p.Total != 9 || e.N == nil || *e.N != int64(i)+3 || (e.Withdrawn != nil) != (i < 8) {
				t.Errorf("entry %d of %d: %+v", i, p.Total, e)
			}
			if e.Withdrawn != nil && !strings.Contains(string(e.Withdrawn.Event), del.ID) {
				t.Errorf("it does not say how: %s", e.Withdrawn.Event)
			}
		}
	}
}

// TestEventsMustSayWhatRequestsSay sends signed events that differ.
func TestEventsMustSayWhatRequestsSay(t *testing.T) {
	w := newWorld(t)
	held := w.provision("anna", anna)
	id := w.in(held, w.provision("will", will), niptemp.Accepted)
	w.clock.Add(second)
	posts := holder(anna)
	posts.AgentID = "anna"
	good := func() *nostr.Event { return w.entryOf(anna, id, will.Pub, "message", "text") }
	request := func(ev json.RawMessage) EntryRequest {
		return EntryRequest{Type: "message", Content: "text", Event: ev}
	}
	wrong := map[string]json.RawMessage{
		"none": nil, "null": json.RawMessage("null"), "no event": json.RawMessage("{}"),
		"of another kind":           raw(w.event(anna, 1, "text")),
		"of another author":         raw(w.entryOf(will, id, anna.Pub, "message", "text")),
		"to another":                raw(w.entryOf(anna, id, mara.Pub, "message", "text")),
		"of another contract":       raw(w.entryOf(anna, "other", will.Pub, "message", "text")),
		"of another type":           raw(w.entryOf(anna, id, will.Pub, "note", "text")),
		"with another text":         raw(w.entryOf(anna, id, will.Pub, "message", "texts")),
		"with a broken signature":   broken(good()),
		"with another's agent id":   raw(w.event(anna, niptemp.KindEntry, `{"type":"message","content":"text"}`, nostr.Tag{"d", id}, nostr.Tag{"p", will.Pub}, nostr.Tag{"t", "message"}, nostr.Tag{"agentry:author", "will"})),
		"with an entry id of sorts": raw(w.event(anna, niptemp.KindEntry, `{"type":"message","content":"text"}`, nostr.Tag{"d", id}, nostr.Tag{"p", will.Pub}, nostr.Tag{"t", "message"}, nostr.Tag{"agentry:entry", "mine"})),
		"that is private":           raw(w.event(anna, niptemp.KindEntry, `{"type":"message","content":"text","visibility":"poster_only"}`, nostr.Tag{"d", id}, nostr.Tag{"p", will.Pub}, nostr.Tag{"t", "message"})),
	}
	for name, ev := range wrong {
		_, err := w.Say(t.Context(), posts, id, request(ev))
		var e *Error
		if CodeOf(err) != Invalid || !asError(err, &e) || e.Fields["event"] == "" {
			t.Errorf("an event %s: %v", name, err)
		}
	}
	wantCode(t, "the right one", errOf(w.Say(t.Context(), posts, id, request(raw(good())))), 0)

	open := w.stateOf(anna, "25becee1-e170-42e3-b8aa-51d3e864ce60", will.Pub, niptemp.Open, "", "job")
	for name, r := range map[string]CreateRequest{
		"another amount":      {WorkerPubKey: will.Pub, Description: "job", AmountSats: 1, Event: raw(open)},
		"another description": {WorkerPubKey: will.Pub, Description: "jobs", AmountSats: 5000, Event: raw(open)},
		"another worker":      {WorkerPubKey: mara.Pub, Description: "job", AmountSats: 5000, Event: raw(open)},
		"another id":          {ContractID: "35becee1-e170-42e3-b8aa-51d3e864ce60", WorkerPubKey: will.Pub, Description: "job", AmountSats: 5000, Event: raw(open)},
		"no event":            {WorkerPubKey: will.Pub, Description: "job", AmountSats: 5000},
		"an id that is none":  {WorkerPubKey: will.Pub, Description: "job", AmountSats: 5000, Event: raw(w.stateOf(anna, "c", will.Pub, niptemp.Open, "", "job"))},
	} {
		wantCode(t, "create with "+name, errOf(w.Create(t.Context(), posts, r)), Invalid)
	}
	right := CreateRequest{WorkerPubKey: will.Pub, Description: "job", AmountSats: 5000, Event: raw(open)}
	for range 2 { // again is no error
		wantCode(t, "create", errOf(w.Create(t.Context(), posts, right)), 0)
	}
	for name, r := range map[string]CreateRequest{
		"nothing": {}, "an amount below 0": {Description: "x", AmountSats: -1}, "itself": {Description: "x", WorkerPubKey: anna.Pub},
		"a worker nobody knows": {Description: "x", WorkerAgentID: "whoever"}, "a key that is none": {Description: "x", WorkerPubKey: "ab"},
		"two workers":            {Description: "x", WorkerAgentID: "will", WorkerPubKey: mara.Pub},
		"the worker as arbiter":  {Description: "x", WorkerAgentID: "will", ArbitratorAgentID: "will"},
		"a deadline in the past": {Description: "x", Deadline: &storetest.Start},
	} {
		wantCode(t, "create with "+name, errOf(w.Create(t.Context(), held, r)), Invalid)
	}
	wantCode(t, "too much", errOf(w.Say(t.Context(), held, id, EntryRequest{Type: "note", Content: strings.Repeat("x", 64<<10+1)})), TooLarge)
	for name, r := range map[string]EntryRequest{
		"no type": {Content: "x"}, "no content": {Type: "note"}, "a visibility": {Type: "note", Content: "x", Visibility: "all"},
		"an attachment": {Type: "note", Content: "x", Attachments: []string{"file:///x"}}, "attachments": {Type: "note", Content: "x", Attachments: make([]string, 33)},
	} {
		wantCode(t, "entry with "+name, errOf(w.Say(t.Context(), held, id, r)), Invalid)
	}
}

// broken returns an event with another event's signature.
func broken(ev *nostr.Event) json.RawMessage {
	ev.Sig = strings.Repeat("0", 128)
	return raw(ev)
}

func asError(err error, into **Error) bool {
	e, ok := err.(*Error)
	*into = e
	return ok
}

// TestRelayRefusesForAWhile: entries that the relay refuses for a while are
// kept and shown, and are delivered later, in order, once.
func TestRelayRefusesForAWhile(t *testing.T) {
	w := newWorld(t)
	posts, works := w.provision("anna", anna), w.provision("will", will)
	id := w.in(posts, works, niptemp.Accepted)
	w.clock.Add(second)
	w.refusing(func(ev *nostr.Event) string {
		return map[bool]string{true: "rate-limited: slow down"}[ev.PubKey == will.Pub]
	})
	for _, text := range []string{"one", "two"} {
		if e := w.say(works, id, "message", Shared, text); e.NostrEventID != nil || e.Content != text {
			t.Errorf("%+v", e)
		}
	}
	w.refusing(nil)
	if e := w.say(posts, id, "message", Shared, "of the poster"); e.NostrEventID == nil {
		t.Error("the poster waits for what the relay refuses of the worker")
	}
	if e := w.say(works, id, "message", Shared, "three"); e.NostrEventID != nil {
		t.Error("an entry overtakes those that wait")
	}
	sum := must[Summary](t)(w.Summary(t.Context(), posts, id))
	if sum.TotalEntries != 4 || sum.NostrPublished != 1 || len(w.outbox.local) != 3 {
		t.Errorf("waiting: %+v, %d in the outbox", sum, len(w.outbox.local))
	}
	before := w.texts(posts, id)
	again := &outbox{}
	w.Service.outbox, again.remote = again, nil
	if err := w.Resume(t.Context()); err != nil || len(again.local) != 3 {
		t.Errorf("after a crash %d are queued again (%v)", len(again.local), err)
	}
	for _, ev := range w.outbox.local {
		for range 2 {
			if final, err := w.Deliver(t.Context(), ev); final || err != nil {
				t.Errorf("delivery: %v %v", final, err)
			}
		}
	}
	sum = must[Summary](t)(w.Summary(t.Context(), posts, id))
	if after := w.texts(posts, id); sum.TotalEntries != 4 || sum.NostrPublished != 4 || after != before {
		t.Errorf("delivered: %+v, %s, before %s", sum, after, before)
	}
}

// TestSealedSharedEntries are for the parties.
func TestSealedSharedEntries(t *testing.T) {
	w := newWorld(t)
	posts, works := w.provision("anna", anna), w.provision("will", will)
	id := w.in(posts, works, niptemp.Accepted)
	w.clock.Add(second)
	payload := storetest.Payload("x")
	ev := w.event(will, niptemp.KindEntry, payload, nostr.Tag{"d", id}, nostr.Tag{"p", anna.Pub}, nostr.Tag{"t", "note"})
	self := holder(will)
	self.AgentID = "will"
	e := must[Entry](t)(w.Say(t.Context(), self, id, EntryRequest{Type: "note", Content: payload, Event: raw(ev)}))
	if !e.Encrypted || e.Content != payload {
		t.Errorf("%+v", e)
	}
	for name, c := range map[string]Caller{"nobody": {}, "operator": {Operator: true}, "arbitrator": holder(arby), "stranger": holder(mara)} {
		if got := w.texts(c, id); got != "" {
			t.Errorf("%s reads %s", name, got)
		}
		if name != "arbitrator" { // who is shown that it is there
			wantCode(t, name, errOf(w.Entry(t.Context(), c, id, e.EntryID)), NotFound)
		}
	}
	if got := w.texts(posts, id); got != payload {
		t.Errorf("the poster reads %s", got)
	}
}

// TestManyWriters: of concurrent writes to one contract none is lost and no id
// is used twice.
func TestManyWriters(t *testing.T) {
	w := newWorld(t)
	posts, works := w.provision("anna", anna), w.provision("will", will)
	id := w.in(posts, works, niptemp.Accepted)
	w.clock.Add(second)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			c, vis := posts, PosterOnly
			if i%2 == 1 {
				c, vis = works, WorkerOnly
			}
			for _, v := range []Visibility{Shared, vis} {
				if _, err := w.Say(t.Context(), c, id, EntryRequest{Type: "message", Visibility: v, Content: fmt.Sprint("entry ", i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	page := must[EntryPage](t)(w.Entries(t.Context(), posts, id, EntryQuery{Limit: 500}))
	ids := map[string]bool{}
	for _, e := range page.Entries {
		ids[e.EntryID] = true
	}
	if page.Total != 75 || len(ids) != 75 {
		t.Errorf("%d entries, %d ids, want 75", page.Total, len(ids))
	}
}
