package contracts

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/niptemp"
)

// saysAs is a signed kind-30091 with further tags, at the clock's time.
func (w *world) saysAs(k storetest.Key, id string, status, previous niptemp.Status, keys []string, more ...nostr.Tag) *nostr.Event {
	w.clock.Add(second)
	content := map[string]any{"contract_id": id, "status": status, "description": "x", "note": "because"}
	if previous != "" {
		content["previous_status"] = previous
	}
	tags := nostr.Tags{{"d", id}}
	for _, key := range keys {
		tags = append(tags, nostr.Tag{"p", key})
	}
	return w.event(k, niptemp.KindState, asJSON(content), append(tags, more...)...)
}

// agreement returns the terms that name arby, oper and the world's relay.
func (w *world) agreement(deadline int64) nostr.Tags {
	return niptemp.Terms{Arbitrator: arby.Pub, Decider: oper.Pub, Expirer: w.self.Pub, Deadline: deadline}.Tags()
}

const contractID = "5f0f3a3e-8b1c-4a77-9c3e-0a1b2c3d4e5f"

// disputed returns a disputed contract between two agents with their own keys;
// the worker has repeated the terms.
func (w *world) disputed(terms nostr.Tags) string {
	w.mustPut(w.saysAs(anna, contractID, niptemp.Open, "", []string{will.Pub}, terms...))
	w.mustPut(w.saysAs(will, contractID, niptemp.Accepted, niptemp.Open, []string{anna.Pub}, terms...))
	w.mustPut(w.saysAs(anna, contractID, niptemp.Disputed, niptemp.Accepted, []string{will.Pub}))
	return contractID
}

// newest returns the status and author of the newest state event that the relay
// shows the poster.
func (w *world) newest(id string) (status niptemp.Status, author string) {
	w.tb.Helper()
	filter := nostr.Filter{Kinds: []int{niptemp.KindState}, Tags: nostr.TagMap{"d": {id}}}
	page := must[store.Page](w.tb)(w.store.Query(w.tb.Context(), store.Ask{Scope: gate.Operator(), Filter: filter, MaxRows: 100}))
	if len(page.Rows) == 0 {
		return "", ""
	}
	ev := must[*nostr.Event](w.tb)(wire.ParseEvent(page.Rows[0].JSON))
	said := must[niptemp.StateText](w.tb)(niptemp.ReadState(ev))
	return said.Status, ev.PubKey
}

// TestDecisionsAreSignedByWhoDecides: the key that ends a dispute signs the
// decision, also where the server keeps the parties' keys; API and relay agree.
func TestDecisionsAreSignedByWhoDecides(t *testing.T) {
	for _, kept := range []bool{true, false} {
		for name, by := range map[string]Caller{"arbitrator": {PubKey: arby.Pub}, "operator": {PubKey: oper.Pub, Operator: true}} {
			w := newWorld(t)
			var id string
			signer := map[string]storetest.Key{"arbitrator": arby, "operator": w.self}[name]
			if kept {
				posts, works := w.provision("anna", anna), w.provision("will", will)
				id = w.in(posts, works, niptemp.Disputed)
				w.clock.Add(second)
			} else {
				terms := niptemp.Terms{Arbitrator: arby.Pub, Decider: w.self.Pub}.Tags()
				id = w.disputed(terms)
			}
			r := MoveRequest{Status: niptemp.Cancelled, Note: "because"}
			if name == "arbitrator" {
				ev := w.saysAs(arby, id, niptemp.Cancelled, niptemp.Disputed, []string{anna.Pub, will.Pub})
				r.Event = raw(ev)
			}
			got := must[Contract](t)(w.Move(t.Context(), by, id, r))
			if got.Status != niptemp.Cancelled || got.Decided == nil || got.Decided.By != name || got.Decided.NostrEventID == nil || got.Decided.Note != "because" {
				t.Errorf("%s, kept %v: %s", name, kept, asJSON(got.Decided))
			}
			if status, author := w.newest(id); status != niptemp.Cancelled || author != signer.Pub {
				t.Errorf("%s, kept %v: the relay says %s, signed by the one who decides: %v", name, kept, status, author == signer.Pub)
			}
			if statuses := must[[]string](t)(stateStatuses(w, id)); contains(strings.Join(statuses, " "), "cancelled") {
				t.Errorf("%s, kept %v: a party is said to have signed %v", name, kept, statuses)
			}
		}
	}
}

// TestTheDeciderHasHisOwnKey: an agreed decider that is neither this relay nor
// its operator reads a dispute here and decides by a signed event; the operator
// cannot.
func TestTheDeciderHasHisOwnKey(t *testing.T) {
	w := newWorld(t, func(o *gate.Options) { o.Contracts = gate.ContractsParties })
	terms, decider, operator := w.agreement(0), holder(oper), Caller{PubKey: mara.Pub, Operator: true}
	w.mustPut(w.saysAs(anna, contractID, niptemp.Open, "", []string{will.Pub}, terms...))
	w.mustPut(w.saysAs(will, contractID, niptemp.Accepted, niptemp.Open, []string{anna.Pub}, terms...))
	w.mustPut(w.entryOf(will, contractID, anna.Pub, "message", "it is done"))
	wantCode(t, "to read before the dispute", errOf(w.Entries(t.Context(), decider, contractID, EntryQuery{})), NotFound)
	w.mustPut(w.saysAs(anna, contractID, niptemp.Disputed, niptemp.Accepted, []string{will.Pub}))
	if got := w.texts(decider, contractID); got != "it is done" {
		t.Errorf("he reads %s", got)
	}
	cancel := MoveRequest{Status: niptemp.Cancelled}
	wantCode(t, "the operator", errOf(w.Move(t.Context(), operator, contractID, cancel)), Forbidden)
	wantCode(t, "no event", errOf(w.Move(t.Context(), decider, contractID, cancel)), Invalid)
	for what, ev := range map[string]*nostr.Event{
		"another's":      w.saysAs(mara, contractID, niptemp.Cancelled, niptemp.Disputed, []string{anna.Pub, will.Pub}),
		"another status": w.saysAs(oper, contractID, niptemp.Completed, niptemp.Disputed, []string{anna.Pub, will.Pub}),
		"another order":  w.saysAs(oper, contractID, niptemp.Cancelled, niptemp.Disputed, []string{will.Pub, anna.Pub}),
		"no decision":    w.saysAs(oper, contractID, niptemp.Cancelled, niptemp.Disputed, []string{anna.Pub}),
		"another's case": w.saysAs(oper, "5"+contractID[1:35]+"0", niptemp.Cancelled, niptemp.Disputed, []string{anna.Pub, will.Pub}),
	} {
		wantCode(t, what, errOf(w.Move(t.Context(), decider, contractID, MoveRequest{Status: niptemp.Cancelled, Event: raw(ev)})), Invalid)
	}
	cancel.Event = raw(w.saysAs(oper, contractID, niptemp.Cancelled, niptemp.Disputed, []string{anna.Pub, will.Pub}))
	got := must[Contract](t)(w.Move(t.Context(), decider, contractID, cancel))
	if got.Status != niptemp.Cancelled || got.Decided == nil || got.Decided.By != "operator" || got.Decided.NostrEventID == nil {
		t.Errorf("%s", asJSON(got))
	}
	if status, author := w.newest(contractID); status != niptemp.Cancelled || author != oper.Pub {
		t.Errorf("the relay says %s by %s", status, author)
	}
}

// TestEveryRelayChecksDecisions: a relay that gets only the events reaches the
// same state, and accepts no decision by another key, whatever it knows of the
// contract.
func TestEveryRelayChecksDecisions(t *testing.T) {
	w := newWorld(t)
	decision := func(k storetest.Key, status niptemp.Status, keys ...string) *nostr.Event {
		return w.saysAs(k, contractID, status, niptemp.Disputed, keys)
	}
	refused := func(when string, k storetest.Key, status niptemp.Status, keys ...string) {
		t.Helper()
		if a := w.put(decision(k, status, keys...)); a.OK || !strings.HasPrefix(a.Message(), "invalid: ") {
			t.Errorf("%s: %v %q", when, a.OK, a.Message())
		}
	}
	both := []string{anna.Pub, will.Pub}
	refused("no state is known", arby, niptemp.Completed, both...)
	w.disputed(w.agreement(0))
	for name, k := range map[string]storetest.Key{"a stranger": mara, "the expirer": w.self, "the poster": anna} {
		refused(name, k, niptemp.Completed, both...)
	}
	refused("the keys in another order", arby, niptemp.Completed, will.Pub, anna.Pub)
	refused("three keys", arby, niptemp.Completed, anna.Pub, will.Pub, mara.Pub)
	refused("one key", arby, niptemp.Completed, anna.Pub)
	for _, party := range []storetest.Key{anna, will} {
		other := anna.Pub
		if party.Pub == other {
			other = will.Pub
		}
		if a := w.put(w.saysAs(party, contractID, niptemp.Expired, niptemp.Disputed, []string{other})); a.OK {
			t.Error("a party says that it has expired")
		}
	}
	w.mustPut(decision(arby, niptemp.Completed, both...))
	got := must[Contract](t)(w.Get(t.Context(), holder(will), contractID))
	if got.Status != niptemp.Completed || got.Decided == nil || got.Decided.By != "arbitrator" || got.Decided.Note != "because" {
		t.Errorf("%s", asJSON(got))
	}
	refused("it is over", arby, niptemp.Cancelled, both...)
	if a := w.put(w.entryOf(will, contractID, anna.Pub, "message", "but")); a.OK {
		t.Error("it takes entries when it is over")
	}
}

// TestTermsAreAgreedOneByOne: only the terms that the worker repeats hold, and
// they hold for ever.
func TestTermsAreAgreedOneByOne(t *testing.T) {
	w := newWorld(t)
	due := w.clock.Now().Add(time.Hour).Unix()
	offered := w.agreement(due)
	w.mustPut(w.saysAs(anna, contractID, niptemp.Open, "", []string{anna.Pub}, offered...))
	got := must[Contract](t)(w.Get(t.Context(), holder(will), contractID))
	if asJSON(got.Agreed) != asJSON(Terms{}) || *got.Offered.Arbitrator != arby.Pub || got.Offered.Deadline.Unix() != due {
		t.Errorf("offered: %s", asJSON(got))
	}
	if _, err := w.Get(t.Context(), holder(arby), contractID); err != nil {
		t.Error("an offer to anybody is hidden from one it names", err)
	}
	other := nostr.Tags{{"arbitrator", arby.Pub}, {"decider", mara.Pub}, {"deadline", strconv.FormatInt(due+1, 10)}}
	w.mustPut(w.saysAs(will, contractID, niptemp.Accepted, niptemp.Open, []string{anna.Pub}, other...))
	for _, c := range []Caller{holder(anna), holder(will), holder(arby)} {
		got := must[Contract](t)(w.Get(t.Context(), c, contractID))
		key := arby.Pub
		if want := (Terms{Arbitrator: &key}); asJSON(got.Agreed) != asJSON(want) || got.Deadline != nil {
			t.Errorf("agreed: %s, deadline %v", asJSON(got.Agreed), got.Deadline)
		}
	}
	// A revision that names another arbitrator changes nothing.
	w.mustPut(w.saysAs(will, contractID, niptemp.Submitted, niptemp.Accepted, []string{anna.Pub}))
	w.mustPut(w.saysAs(anna, contractID, niptemp.Accepted, niptemp.Submitted, []string{will.Pub}, nostr.Tag{"decider", mara.Pub}))
	if got := must[Contract](t)(w.Get(t.Context(), holder(will), contractID)); got.Agreed.Decider != nil {
		t.Errorf("agreed by the poster alone: %s", asJSON(got.Agreed))
	}
	if a := w.put(w.saysAs(anna, "another", niptemp.Open, "", []string{will.Pub}, nostr.Tag{"arbitrator", will.Pub})); a.OK {
		t.Error("a party is named as arbitrator")
	}
}

// TestExpiryIsSigned: the relay that is named signs that the deadline is over,
// of a contract and of an offer that nobody accepted, and not earlier.
func TestExpiryIsSigned(t *testing.T) {
	w := newWorld(t)
	due := w.clock.Now().Add(time.Hour).Unix()
	terms := w.agreement(due)
	w.mustPut(w.saysAs(anna, contractID, niptemp.Open, "", []string{will.Pub}, terms...))
	w.mustPut(w.saysAs(will, contractID, niptemp.Accepted, niptemp.Open, []string{anna.Pub}, terms...))
	w.mustPut(w.saysAs(anna, "offer-to-anybody-1", niptemp.Open, "", []string{anna.Pub}, terms...))
	if a := w.put(w.saysAs(w.self, contractID, niptemp.Expired, niptemp.Accepted, []string{anna.Pub, will.Pub})); a.OK {
		t.Error("it expired before the deadline")
	}
	w.clock.Add(2 * time.Hour)
	must[time.Duration](t)(w.Expire(t.Context()))
	for _, id := range []string{contractID, "offer-to-anybody-1"} {
		if status, author := w.newest(id); status != niptemp.Expired || author != w.self.Pub {
			t.Errorf("%s: %s by the relay: %v", id, status, author == w.self.Pub)
		}
		got := must[Contract](t)(w.Get(t.Context(), holder(anna), id))
		if got.Status != niptemp.Expired || got.Decided == nil || got.Decided.By != "deadline" || got.Decided.NostrEventID == nil {
			t.Errorf("%s: %s", id, asJSON(got))
		}
	}
}

// TestImportInAnyOrder: a relay that imports a contract's events in any order
// reaches the state of the relay where they were written.
func TestImportInAnyOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	w := newWorld(t)
	terms := w.agreement(0)
	id := contractID
	events := []*nostr.Event{
		w.saysAs(anna, id, niptemp.Open, "", []string{will.Pub}, terms...),
		w.saysAs(will, id, niptemp.Accepted, niptemp.Open, []string{anna.Pub}, terms...),
		w.saysAs(anna, id, niptemp.Disputed, niptemp.Accepted, []string{will.Pub}),
		w.saysAs(arby, id, niptemp.Completed, niptemp.Disputed, []string{anna.Pub, will.Pub}),
		w.saysAs(mara, id, niptemp.Cancelled, niptemp.Disputed, []string{anna.Pub, will.Pub}),
	}
	orders := 0
	var permute func(rest, taken []*nostr.Event)
	permute = func(rest, taken []*nostr.Event) {
		if len(rest) == 0 {
			if orders++; orders%7 == 0 || orders < 4 {
				w.imports(taken)
			}
			return
		}
		for i := range rest {
			next := append(append([]*nostr.Event{}, rest[:i]...), rest[i+1:]...)
			permute(next, append(append([]*nostr.Event{}, taken...), rest[i]))
		}
	}
	permute(events, nil)
}

// imports gives the events to a new relay.
func (w *world) imports(events []*nostr.Event) {
	w.tb.Helper()
	fresh := newWorld(w.tb)
	var order []string
	for _, ev := range events {
		if r := fresh.store.Put(w.tb.Context(), ev, store.PutOptions{Import: true}); r.Err != nil {
			w.tb.Fatal(r.Err)
		}
		said := must[niptemp.StateText](w.tb)(niptemp.ReadState(ev))
		order = append(order, string(said.Status))
	}
	got := must[Contract](w.tb)(fresh.Get(w.tb.Context(), holder(will), contractID))
	if got.Status != niptemp.Completed || got.Agreed.Arbitrator == nil || got.Decided == nil || got.Decided.By != "arbitrator" {
		w.tb.Errorf("in the order %v: %s", order, asJSON(got))
	}
}

// TestTheArbitratorGetsTheCase: under every option the arbitrator reads all
// moves and all open entries, on the websocket and in the API, and sealed
// entries as sealed; before the agreement the arbitrator is a stranger, and
// never reads other threads.
func TestTheArbitratorGetsTheCase(t *testing.T) {
	for _, mode := range []string{gate.ContractsContract, gate.ContractsParties} {
		w := newWorld(t, func(o *gate.Options) { o.Contracts = mode })
		ctx := relay.WithReader(t.Context(), gate.NewReader(arby.Pub))
		filter := nostr.Filter{Kinds: []int{niptemp.KindEntry, niptemp.KindState}, Tags: nostr.TagMap{"d": {contractID}}}
		if _, err := w.relay.Authorize(ctx, gate.SurfaceReq, []nostr.Filter{filter}); (err != nil) != (mode == gate.ContractsParties) {
			t.Errorf("%s: before it is a case: %v", mode, err)
		}
		w.disputed(w.agreement(0))
		w.clock.Add(second)
		w.mustPut(w.entryOf(anna, contractID, will.Pub, "message", "first words"))
		w.clock.Add(second)
		w.mustPut(w.entryOf(anna, contractID, will.Pub, "message", "second words"))
		sealed := w.sealedOf(will, anna, contractID, "a promise")
		w.mustPut(sealed)
		stray := w.entryOf(mara, contractID, anna.Pub, "message", "from outside")
		w.put(stray)

		granted, err := w.relay.Authorize(ctx, gate.SurfaceReq, []nostr.Filter{filter})
		if err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		page := must[store.Page](t)(w.store.Query(ctx, store.Ask{Scope: granted[0].Scope, Filter: filter, MaxRows: 100}))
		text := ""
		for _, row := range page.Rows {
			text += string(row.JSON)
		}
		for word, want := range map[string]bool{"second words": true, `\"disputed\"`: true, `\"accepted\"`: true, sealed.ID: false, "from outside": mode == gate.ContractsContract} {
			if strings.Contains(text, word) != want {
				t.Errorf("%s: %q is shown: %v", mode, word, !want)
			}
		}
		d := contractID
		past := must[*relay.Versions](t)(w.relay.History(ctx, relay.HistoryQuery{Kind: niptemp.KindEntry, Author: anna.Pub, D: &d}))
		rows, _, err := past.Next(ctx, 10, 1<<20)
		if err != nil || len(rows) != 1 || !strings.Contains(string(rows[0].JSON), "first words") {
			t.Errorf("%s: history: %d rows, %v", mode, len(rows), err)
		}
		w.judges(mode, sealed)
	}
}

// judges is what the arbitrator reads in the API.
func (w *world) judges(mode string, sealed *nostr.Event) {
	t := w.tb
	t.Helper()
	got := must[EntryPage](t)(w.Entries(w.tb.Context(), holder(arby), contractID, EntryQuery{Events: true}))
	if got.Total != 3 || len(got.Entries) != 3 {
		t.Fatalf("%s: %d entries of %d", mode, len(got.Entries), got.Total)
	}
	last := got.Entries[2]
	if !last.Encrypted || last.Content != "" || last.Event != nil || last.NostrEventID != nil || last.Sealed == nil || last.Sealed.Bytes != len(sealed.Content) || len(last.Sealed.SHA256) != 64 {
		t.Errorf("%s: a sealed entry: %s", mode, asJSON(last))
	}
	if text, _ := json.Marshal(got); strings.Contains(string(text), sealed.Content) || strings.Contains(string(text), sealed.ID) {
		t.Errorf("%s: the payload is shown", mode)
	}
	one := must[Entry](t)(w.Entry(w.tb.Context(), holder(arby), contractID, last.EntryID))
	if one.Sealed == nil || one.Content != "" {
		t.Errorf("%s: one sealed entry: %s", mode, asJSON(one))
	}
	if mine := must[EntryPage](t)(w.Entries(w.tb.Context(), holder(will), contractID, EntryQuery{})); mine.Entries[2].Content != sealed.Content {
		t.Errorf("%s: its party is shown %s", mode, asJSON(mine.Entries[2]))
	}
	if list := must[ContractPage](t)(w.List(w.tb.Context(), holder(arby), ContractQuery{})); list.Total != 1 {
		t.Errorf("%s: his cases are %d", mode, list.Total)
	}
}

// TestWhoMadeEachMove: a decision is shown as the agreed decider's, and the
// expiry of an offer is among its moves.
func TestWhoMadeEachMove(t *testing.T) {
	w := newWorld(t)
	at := w.clock.Now().Add(time.Hour).Unix()
	id := w.disputed(w.agreement(at))
	w.mustPut(w.saysAs(arby, id, niptemp.Completed, niptemp.Disputed, []string{anna.Pub, will.Pub}))
	want := "open by poster|open to accepted by worker|accepted to disputed by poster|disputed to completed by arbitrator"
	if got := strings.ReplaceAll(w.moves(holder(anna), id), ": because", ""); got != want {
		t.Errorf("the moves are %s, want %s", got, want)
	}

	offer := strings.Replace(contractID, "5f0f", "5f10", 1)
	w.mustPut(w.saysAs(anna, offer, niptemp.Open, "", []string{anna.Pub}, w.agreement(at)...))
	w.clock.Add(2 * time.Hour)
	if _, err := w.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	page := must[TransitionPage](t)(w.Transitions(t.Context(), holder(anna), offer, TransitionQuery{}))
	if page.Total != 2 || len(page.Transitions) != 2 || page.Transitions[1].Status != niptemp.Expired || page.Transitions[1].NostrEventID == nil ||
		page.Transitions[1].MovedBy != "deadline" {
		t.Errorf("an offer that has expired: %+v", page)
	}
}

// TestDecisionsAreToldOnce: a decision that was imported before other moves
// stands in its order of arrival, and is not repeated as the relay's word.
func TestDecisionsAreToldOnce(t *testing.T) {
	w := newWorld(t)
	terms := w.agreement(w.clock.Now().Add(time.Hour).Unix())
	all := []*nostr.Event{w.saysAs(anna, contractID, niptemp.Open, "", []string{will.Pub}, terms...),
		w.saysAs(will, contractID, niptemp.Accepted, niptemp.Open, []string{anna.Pub}, terms...),
		w.saysAs(anna, contractID, niptemp.Disputed, niptemp.Accepted, []string{will.Pub}),
		w.saysAs(arby, contractID, niptemp.Completed, niptemp.Disputed, []string{anna.Pub, will.Pub})}
	for _, i := range []int{0, 3, 2, 1} {
		if r := w.store.Put(t.Context(), all[i], store.PutOptions{Import: true}); !r.Outcome.OK() && r.Outcome != store.Stale {
			t.Fatal(r)
		}
	}
	page := must[TransitionPage](t)(w.Transitions(t.Context(), holder(anna), contractID, TransitionQuery{}))
	if page.Total != 4 || len(page.Transitions) != 4 || must[Contract](t)(w.Get(t.Context(), holder(anna), contractID)).Status != niptemp.Completed {
		t.Errorf("%d moves: %s", page.Total, addMoves(page.Transitions))
	}
}

// TestArbitratorVanishes: of a decision whose author vanished only the fact
// remains.
func TestArbitratorVanishes(t *testing.T) {
	w := newWorld(t)
	id := w.disputed(w.agreement(w.clock.Now().Add(time.Hour).Unix()))
	w.mustPut(w.saysAs(arby, id, niptemp.Completed, niptemp.Disputed, []string{anna.Pub, will.Pub}))
	w.clock.Add(second)
	w.mustPut(w.event(arby, 62, "", nostr.Tag{"relay", "ALL_RELAYS"}))
	c := must[Contract](t)(w.Get(t.Context(), holder(will), id))
	if c.Status != niptemp.Completed || c.Decided == nil || c.Decided.Note != "" || c.Decided.NostrEventID != nil {
		t.Errorf("the contract is %+v, decided %+v", c, c.Decided)
	}
	if got := w.moves(holder(will), id); strings.Contains(got, "completed") {
		t.Errorf("the moves are %s", got)
	}
	if gaps := must[Order](t)(w.Order(t.Context(), holder(will), id)).Gaps; len(gaps) != 1 || gaps[0].Status != niptemp.Completed {
		t.Errorf("the gaps are %+v", gaps)
	}
}
