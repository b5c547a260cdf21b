package contracts

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

// path is how a contract gets to a status.
var path = map[niptemp.Status][]niptemp.Status{
	niptemp.Accepted:  {niptemp.Accepted},
	niptemp.Submitted: {niptemp.Accepted, niptemp.Submitted},
	niptemp.Disputed:  {niptemp.Accepted, niptemp.Disputed},
	niptemp.Completed: {niptemp.Accepted, niptemp.Submitted, niptemp.Completed},
	niptemp.Cancelled: {niptemp.Cancelled},
}

// in brings a new contract of the two into a status.
func (w *world) in(posts, works Caller, status niptemp.Status) string {
	w.tb.Helper()
	deadline := w.clock.Now().Add(time.Hour)
	id := w.create(posts, works.PubKey, func(r *CreateRequest) { r.ArbitratorAgentID, r.Deadline = arby.Pub, &deadline }).ContractID
	if status == niptemp.Expired {
		w.clock.Add(2 * time.Hour)
	}
	for _, to := range path[status] {
		c := posts
		if _, byWorker := niptemp.Movers(niptemp.Open, to); byWorker || to == niptemp.Submitted {
			c = works
		}
		w.clock.Add(second)
		if err := w.move(c, id, to); err != nil {
			w.tb.Fatalf("to %s: %v", to, err)
		}
	}
	if got := must[Contract](w.tb)(w.Get(w.tb.Context(), posts, id)); got.Status != status {
		w.tb.Fatalf("it is %s, not %s", got.Status, status)
	}
	return id
}

// TestEveryMove tries every pair of statuses by every role.
func TestEveryMove(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	// NIP-TEMP's table of moves, written independently of the code.
	allowed := map[string]string{
		"open accepted": "worker", "open cancelled": "poster",
		"accepted submitted": "worker", "accepted disputed": "poster worker", "accepted cancelled": "worker",
		"submitted accepted": "poster", "submitted completed": "poster", "submitted disputed": "poster worker",
		"disputed completed": "poster arbitrator operator", "disputed cancelled": "worker arbitrator operator",
	}
	expires := map[niptemp.Status]bool{niptemp.Open: true, niptemp.Accepted: true}
	offered := map[niptemp.Status]bool{niptemp.Open: true, niptemp.Cancelled: true, niptemp.Expired: true} // nobody accepted, and agreed
	w := newWorld(t)
	callers := map[string]Caller{
		"nobody": {}, "stranger": w.provision("mara", mara), "poster": w.provision("anna", anna), "worker": w.provision("will", will),
		"arbitrator": w.provision("arby", arby), "operator": {PubKey: oper.Pub, Operator: true, Provisioned: true},
	}
	for _, from := range niptemp.Statuses() {
		for _, to := range niptemp.Statuses() {
			for role, c := range callers {
				t.Run(fmt.Sprintf("%s to %s by %s", from, to, role), func(t *testing.T) {
					id := w.in(callers["poster"], callers["worker"], from)
					w.clock.Add(second)
					who, exists := allowed[string(from)+" "+string(to)]
					var want Code
					switch {
					case role == "nobody":
						want = Unauthenticated
					case to == niptemp.Open:
						want = Invalid
					case role == "stranger", role == "arbitrator" && offered[from]:
						want = Forbidden
					case to == niptemp.Expired && expires[from]:
						want = Forbidden
					case !exists:
						want = Conflict
					case !contains(who, role):
						want = Forbidden
					}
					wantCode(t, "move", w.move(c, id, to), want)
					after := must[Contract](t)(w.Get(t.Context(), callers["poster"], id))
					if left := want == 0; (after.Status == to) != left && from != to {
						t.Errorf("it is %s", after.Status)
					}
					if by := after.Decided; want == 0 && (role == "arbitrator" || role == "operator") != (by != nil && by.By == role) {
						t.Errorf("decided %+v by %s", by, role)
					}
				})
			}
		}
	}
}

func contains(list, word string) bool {
	for _, w := range wordsOf(list) {
		if w == word {
			return true
		}
	}
	return false
}

// TestBothWaysInStep moves a contract alternately through the API and on the
// websocket.
func TestBothWaysInStep(t *testing.T) {
	w := newWorld(t)
	posts, works := w.provision("anna", anna), w.provision("will", will)
	id := w.create(posts, will.Pub).ContractID
	w.clock.Add(second)
	w.mustPut(w.stateOf(will, id, anna.Pub, niptemp.Accepted, niptemp.Open, ""))
	if got := must[Contract](t)(w.Get(t.Context(), works, id)); got.Status != niptemp.Accepted || got.AmountSats != 5000 || got.Description == "" {
		t.Errorf("after a move on the websocket: %+v", got)
	}
	w.clock.Add(second)
	wantCode(t, "submit", w.move(works, id, niptemp.Submitted), 0)
	w.clock.Add(second)
	if a := w.put(w.stateOf(will, id, anna.Pub, niptemp.Submitted, niptemp.Accepted, "")); a.OK {
		t.Error("the websocket takes a move that the API has made")
	}
	w.mustPut(w.stateOf(anna, id, will.Pub, niptemp.Completed, niptemp.Submitted, ""))
	wantCode(t, "a move of what is completed", w.move(works, id, niptemp.Disputed), Conflict)

	// A contract that was made on the websocket is visible to its parties, and
	// listed.
	w.mustPut(w.stateOf(anna, "c-1", will.Pub, niptemp.Open, "", "by socket"))
	got := must[Contract](t)(w.Get(t.Context(), works, "c-1"))
	if got.Description != "by socket" || got.AmountSats != 5000 || got.Status != niptemp.Open {
		t.Errorf("%+v", got)
	}
	list := must[ContractPage](t)(w.List(t.Context(), works, ContractQuery{Status: niptemp.Open}))
	if list.Total != 1 || len(list.Contracts) != 1 || list.Contracts[0].ContractID != "c-1" {
		t.Errorf("open ones: %+v", list)
	}
	if list = must[ContractPage](t)(w.List(t.Context(), posts, ContractQuery{})); list.Total != 2 || list.Contracts[0].ContractID != "c-1" {
		t.Errorf("all: %+v", list)
	}
}

// TestConcurrentMoves lets all parties move at the same time: one wins.
func TestConcurrentMoves(t *testing.T) {
	w := newWorld(t)
	posts, works := w.provision("anna", anna), w.provision("will", will)
	for round := range 8 {
		id := w.in(posts, works, niptemp.Submitted)
		w.clock.Add(second)
		moves := []struct {
			c  Caller
			to niptemp.Status
		}{{posts, niptemp.Completed}, {posts, niptemp.Accepted}, {works, niptemp.Disputed}, {posts, niptemp.Disputed}}
		errs := make([]error, len(moves))
		var wg sync.WaitGroup
		for i, m := range moves {
			wg.Go(func() { errs[i] = w.move(m.c, id, m.to) })
		}
		wg.Wait()
		// A later move may follow an accepted or disputed contract; completed is
		// final.
		won := 0
		for i, err := range errs {
			if err == nil {
				won++
			} else if code := CodeOf(err); code != Conflict && code != Forbidden {
				t.Errorf("round %d, move %d: %v", round, i, err)
			}
		}
		if won == 0 {
			t.Errorf("round %d: nobody wins", round)
		}
	}
	// Of several equal moves from one state exactly one succeeds.
	id := w.in(posts, works, niptemp.Accepted)
	w.clock.Add(second)
	errs := make([]error, 16)
	var wg sync.WaitGroup
	for i := range errs {
		c := []Caller{posts, works}[i%2]
		wg.Go(func() { errs[i] = w.move(c, id, niptemp.Disputed) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			wantCode(t, "the loser", err, Conflict)
		}
	}
	if won != 1 {
		t.Errorf("%d win", won)
	}
}

// TestOffersToAnybody lets two workers accept one offer: the first has it.
func TestOffersToAnybody(t *testing.T) {
	w := newWorld(t)
	posts, first, other := w.provision("anna", anna), w.provision("will", will), w.provision("mara", mara)
	deadline := w.clock.Now().Add(time.Hour)
	c := w.create(posts, "", func(r *CreateRequest) { r.Deadline, r.ArbitratorAgentID = &deadline, arby.Pub })
	if c.WorkerAgentID != nil {
		t.Errorf("created %+v", c)
	}
	w.say(posts, c.ContractID, "message", Shared, "who wants it?")
	if got := must[Contract](t)(w.Get(t.Context(), first, c.ContractID)); got.Description == "" {
		t.Errorf("an offer is %+v to who may take it", got)
	}
	wantCode(t, "entry before accepting", errOf(w.Say(t.Context(), first, c.ContractID, EntryRequest{Type: "message", Content: "x"})), Forbidden)
	w.clock.Add(second)
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i, who := range []Caller{first, other} {
		wg.Go(func() { errs[i] = w.move(who, c.ContractID, niptemp.Accepted) })
	}
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("accepting at once: %v", errs)
	}
	winner, loser := first, other
	if errs[0] != nil {
		winner, loser = other, first
	}
	for _, err := range errs {
		if err != nil {
			wantCode(t, "the other", err, Conflict)
		}
	}
	got := must[Contract](t)(w.Get(t.Context(), posts, c.ContractID))
	if *got.WorkerPubKey != winner.PubKey || got.Deadline == nil || got.ArbitratorAgentID == nil {
		t.Errorf("the terms of the offer do not hold: %+v", got)
	}
	if got := w.texts(winner, c.ContractID); got != "who wants it?" {
		t.Errorf("the worker reads %q", got)
	}
	wantCode(t, "get by the loser", errOf(w.Get(t.Context(), loser, c.ContractID)), NotFound)
	if list := must[ContractPage](t)(w.List(t.Context(), posts, ContractQuery{})); list.Total != 1 {
		t.Errorf("the offer is listed beside its pair: %+v", list)
	}
}

func errOf[T any](_ T, err error) error { return err }

// TestExpiry lets deadlines pass, seen by a caller and by the clock. The relay
// that the contracts name signs it; a relay that may not lets them expire all
// the same.
func TestExpiry(t *testing.T) {
	for _, signs := range []bool{true, false} {
		t.Run(fmt.Sprint("the relay signs: ", signs), func(t *testing.T) {
			w := newWorld(t)
			if !signs {
				w.mover.relayKeys = nil
			}
			posts, works := w.provision("anna", anna), w.provision("will", will)
			ids := map[niptemp.Status]string{}
			for _, s := range []niptemp.Status{niptemp.Open, niptemp.Accepted, niptemp.Submitted, niptemp.Disputed, niptemp.Completed} {
				ids[s] = w.in(posts, works, s)
			}
			if next := must[time.Duration](t)(w.Expire(t.Context())); next != longestWait {
				t.Errorf("with deadlines an hour off it comes again in %v", next)
			}
			w.clock.Add(2 * time.Hour)
			must[time.Duration](t)(w.Expire(t.Context()))
			for was, id := range ids {
				p := must[*store.ContractPair](t)(w.store.ContractPair(t.Context(), id, anna.Pub, ""))
				want := was
				if was == niptemp.Open || was == niptemp.Accepted {
					want = niptemp.Expired
				}
				if p.Status != string(want) {
					t.Errorf("%s became %s", was, p.Status)
				}
				got := must[Contract](t)(w.Get(t.Context(), posts, id))
				expired := want == niptemp.Expired
				if expired != (got.Decided != nil && got.Decided.By == "deadline") {
					t.Errorf("%s: decided %+v", was, got.Decided)
				}
				if expired && signs != (got.Decided.NostrEventID != nil) {
					t.Errorf("%s: decided %+v", was, got.Decided)
				}
			}
			w.clock.Add(second)
			if a := w.put(w.entryOf(anna, ids[niptemp.Open], will.Pub, "message", "late")); a.OK {
				t.Error("an expired contract takes entries from the websocket")
			}
			published := must[[][]byte](t)(w.store.ContractStates(t.Context(), ids[niptemp.Accepted], w.self.Pub))
			if (len(published) == 1) != signs {
				t.Errorf("the relay has published %s", published)
			}
		})
	}
}

// locked is a signer without a master key: it has keys that it cannot open.
type locked struct{ *agents }

func (locked) Sign(context.Context, *nostr.Event) error {
	return Refuse(Unavailable, "there is no master key")
}

// TestDecisionsNeedNoKey: deadlines pass and disputes end although the server
// cannot sign for the parties whose keys it keeps, and one contract's kept keys
// delay no other's expiry.
func TestDecisionsNeedNoKey(t *testing.T) {
	w := newWorld(t)
	posts, works := w.provision("anna", anna), w.provision("will", will)
	deadline := w.clock.Now().Add(time.Hour)
	limited := func(r *CreateRequest) { r.Deadline, r.Description = &deadline, strings.Repeat("x", 60_000) }
	first, second := w.create(posts, works.PubKey, limited).ContractID, w.create(posts, works.PubKey, limited).ContractID
	disputed := w.in(posts, works, niptemp.Disputed)
	w.Service.signer = locked{w.identities}
	w.clock.Add(2 * time.Hour)
	if got := must[Contract](t)(w.Get(t.Context(), works, first)); got.Status != niptemp.Expired || got.Decided == nil || got.Decided.By != "deadline" {
		t.Errorf("seen by a caller: %+v", got)
	}
	must[time.Duration](t)(w.Expire(t.Context()))
	if p, err := w.store.ContractBetween(t.Context(), second, anna.Pub, will.Pub); err != nil || p.Status != string(niptemp.Expired) {
		t.Errorf("by the clock: %+v, %v", p, err)
	}
	got := must[Contract](t)(w.Move(t.Context(), Caller{PubKey: oper.Pub, Operator: true}, disputed, MoveRequest{Status: niptemp.Cancelled, Note: "not delivered"}))
	if got.Status != niptemp.Cancelled || got.Decided == nil || got.Decided.Note != "not delivered" {
		t.Errorf("the operator's word: %+v", got)
	}
	if statuses := must[[]string](t)(stateStatuses(w, disputed)); contains(strings.Join(statuses, " "), "cancelled") {
		t.Errorf("a party is said to have signed %v", statuses)
	}
	_, err := w.Create(t.Context(), posts, CreateRequest{Description: "x"})
	wantCode(t, "what a party does itself", err, Unavailable)
}
