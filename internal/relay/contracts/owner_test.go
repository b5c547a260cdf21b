package contracts

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/niptemp"
)

// own makes an event that a contract's poster signs, under an id that commits
// to the poster.
func (w *world) own(k storetest.Key, salt []byte, ev *nostr.Event) *nostr.Event {
	ev.Tags = append(ev.Tags, niptemp.SaltTag(salt))
	if err := ev.Sign(k.Secret); err != nil {
		w.tb.Fatal(err)
	}
	return ev
}

// reads returns whose contract an id is to a caller.
func (w *world) reads(c Caller, id string) string {
	w.tb.Helper()
	got := must[Contract](w.tb)(w.Get(w.tb.Context(), c, id))
	worker := ""
	if got.WorkerPubKey != nil {
		worker = *got.WorkerPubKey
	}
	names := map[string]string{anna.Pub: "anna", will.Pub: "will", mara.Pub: "mara", arby.Pub: "arby", "": "nobody"}
	return names[got.PosterPubKey] + " " + names[worker] + " " + string(got.Status)
}

// A contract that was opened over the websocket, or offered over the API, keeps
// its owner, whatever a key that learns the id does: name the worker, bring a
// sockpuppet, come over the API or the websocket, before or after the worker
// accepts.
func TestNobodyTakesAContractOver(t *testing.T) {
	for name, open := range map[string]func(w *world, posts Caller) string{
		"opened over the websocket": func(w *world, _ Caller) string {
			const id = "f47ac10b-58cc-4372-a567-0e02b2c3d479"
			w.mustPut(w.stateOf(anna, id, anna.Pub, niptemp.Open, "", "job"))
			return id
		},
		"committed, over the websocket": func(w *world, _ Caller) string {
			salt := []byte("sixteen bytes of")
			id := must[string](w.tb)(niptemp.NewID(anna.Pub, salt))
			w.mustPut(w.own(anna, salt, w.stateOf(anna, id, anna.Pub, niptemp.Open, "", "job")))
			return id
		},
		"offered over the API": func(w *world, posts Caller) string { return w.create(posts, "").ContractID },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			posts, works, thief, operates := w.provision("anna", anna), w.provision("will", will), w.provision("mara", mara), Caller{PubKey: oper.Pub, Operator: true}
			id := open(w, posts)
			attack := func(when string) {
				t.Helper()
				for _, worker := range []string{"", will.Pub, arby.Pub} {
					_, err := w.Create(t.Context(), thief, CreateRequest{ContractID: id, WorkerPubKey: worker, Description: "mine", AmountSats: 1})
					if wantCode(t, when+": a contract of his own", err, Conflict); err != nil && !strings.Contains(err.Error(), "this contract id is taken") {
						t.Errorf("%s: %v", when, err)
					}
					to := worker
					if to == "" {
						to = mara.Pub
					}
					if a := w.put(w.stateOf(mara, id, to, niptemp.Open, "", "mine")); a.OK || a.Message() != store.WhyTaken.Error() {
						t.Errorf("%s: over the websocket: %+v", when, a)
					}
				}
			}
			attack("while it is open")
			if got := w.reads(operates, id); got != "anna nobody open" {
				t.Errorf("it is %s", got)
			}
			w.clock.Add(second)
			wantCode(t, "accept", w.move(works, id, niptemp.Accepted), 0)
			attack("when it is accepted")
			w.clock.Add(second)
			w.say(works, id, "deliverable", Shared, "for anna's eyes")
			for who, c := range map[string]Caller{"poster": posts, "worker": works, "operator": operates} {
				if got := w.reads(c, id); got != "anna will accepted" {
					t.Errorf("to the %s it is %s", who, got)
				}
			}
			for who, c := range map[string]Caller{"the poster": posts, "nobody": {}, "the thief": thief} {
				if got := w.texts(c, id); got != "for anna's eyes" {
					t.Errorf("%s reads %q", who, got)
				}
			}
		})
	}
}

// Of two posters who create a contract under one id at the same time, exactly
// one gets it.
func TestTwoPostersAtOnce(t *testing.T) {
	w := newWorld(t)
	callers := []Caller{w.provision("anna", anna), w.provision("mara", mara), w.provision("arby", arby)}
	for _, id := range []string{"f47ac10b-58cc-4372-a567-0e02b2c3d479", "f47ac10b-58cc-4372-a567-0e02b2c3d480", "f47ac10b-58cc-4372-a567-0e02b2c3d481"} {
		errs := make([]error, len(callers))
		var wg sync.WaitGroup
		for i, c := range callers {
			wg.Go(func() {
				_, errs[i] = w.Create(t.Context(), c, CreateRequest{ContractID: id, WorkerPubKey: will.Pub, Description: c.AgentID, AmountSats: 1})
			})
		}
		wg.Wait()
		winner := ""
		for i, err := range errs {
			if err == nil && winner == "" {
				winner = callers[i].AgentID
			} else if CodeOf(err) != Conflict {
				t.Errorf("%v", errs)
			}
		}
		if got := w.reads(Caller{PubKey: will.Pub}, id); got != winner+" will open" {
			t.Errorf("%s won, and it is %s", winner, got)
		}
	}
}

// Each event that the server signs for a poster proves that the id is the
// poster's.
func TestServerSignsTheSalt(t *testing.T) {
	w := newWorld(t)
	posts, works := w.provision("anna", anna), w.provision("will", will)
	id := w.in(posts, works, niptemp.Submitted)
	w.clock.Add(second)
	w.say(posts, id, "message", Shared, "hello")
	w.clock.Add(second)
	wantCode(t, "complete", w.move(posts, id, niptemp.Completed), 0)
	page, err := w.store.Query(t.Context(), store.Ask{Scope: gate.Operator(), Filter: nostr.Filter{Tags: nostr.TagMap{"d": {id}}}, MaxRows: 100, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range page.Rows {
		ev, err := wire.ParseEvent(row.JSON)
		if err != nil {
			t.Fatal(err)
		}
		if proves := niptemp.ProvenSalt(ev) != ""; proves != (ev.PubKey == anna.Pub) || len(page.Rows) != 3 {
			t.Errorf("kind %d by %.4s proves it: %v, of %d", ev.Kind, ev.PubKey, proves, len(page.Rows))
		}
	}
}

// A displaced contract is read and written by its parties only, with its
// poster's name.
func TestDisplacedContractByPoster(t *testing.T) {
	w := newWorld(t)
	salt := []byte("sixteen bytes of")
	id := must[string](t)(niptemp.NewID(anna.Pub, salt))
	w.mustPut(w.stateOf(mara, id, will.Pub, niptemp.Open, "", "mara's"))
	w.clock.Add(second)
	w.mustPut(w.entryOf(mara, id, will.Pub, "message", "by mara"))
	w.mustPut(w.own(anna, salt, w.stateOf(anna, id, will.Pub, niptemp.Open, "", "anna's")))
	w.clock.Add(second)
	w.mustPut(w.own(anna, salt, w.entryOf(anna, id, will.Pub, "message", "by anna")))
	for _, poster := range []string{"mara", mara.Pub} {
		w.identities.names["mara"] = mara.Pub
		ctx := WithPoster(t.Context(), poster)
		for who, c := range map[string]Caller{"poster": holder(mara), "worker": holder(will)} {
			if got := must[Contract](t)(w.Get(ctx, c, id)); got.Description != "mara's" {
				t.Errorf("the %s sees %+v", who, got)
			}
			page := must[EntryPage](t)(w.Entries(ctx, c, id, EntryQuery{}))
			if page.Total != 1 || page.Entries[0].Content != "by mara" {
				t.Errorf("the %s reads %+v", who, page)
			}
		}
		for who, c := range map[string]Caller{"owner": holder(anna), "stranger": holder(arby), "nobody": {}} {
			wantCode(t, "read by the "+who, errOf(w.Entries(ctx, c, id, EntryQuery{})), NotFound)
		}
	}
	for who, c := range map[string]Caller{"worker": holder(will), "nobody": {}} {
		if got := w.texts(c, id); got != "by anna" {
			t.Errorf("without a name the %s reads %q", who, got)
		}
	}
	wantCode(t, "an unknown poster", errOf(w.Get(WithPoster(t.Context(), "who"), holder(will), id)), NotFound)
}

// What worker and poster wrote before the open is in the thread, and others'
// entries are not.
func TestThreadFromBeforeTheOpen(t *testing.T) {
	w := newWorld(t)
	salt := []byte("sixteen bytes of")
	id := must[string](t)(niptemp.NewID(anna.Pub, salt))
	w.mustPut(w.entryOf(will, id, anna.Pub, "message", "may I?"))
	w.mustPut(w.entryOf(mara, id, anna.Pub, "message", "or I?"))
	w.clock.Add(second)
	w.mustPut(w.own(anna, salt, w.entryOf(anna, id, will.Pub, "message", "you may")))
	w.mustPut(w.own(anna, salt, w.stateOf(anna, id, anna.Pub, niptemp.Open, "", "job")))
	w.clock.Add(second)
	w.mustPut(w.stateOf(will, id, anna.Pub, niptemp.Accepted, niptemp.Open, "job"))
	if got := w.texts(Caller{}, id); got != "may I?|you may" {
		t.Errorf("the thread is %q", got)
	}
}

// A client that tries ids, over whatever surface, learns of no contract after
// 1,000 wrong ones; parties are still served.
func TestGuessesAreCounted(t *testing.T) {
	w := newWorld(t)
	const id = "job-17"
	w.mustPut(w.stateOf(anna, id, will.Pub, niptemp.Open, "", "job"))
	guesser := fairness.Who{Share: "192.0.2.1"}
	as := func(k storetest.Key, who fairness.Who) context.Context {
		return fairness.With(relay.WithReader(t.Context(), gate.NewReader(k.Pub)), who)
	}
	ask := func(ctx context.Context, ids ...string) string {
		_, err := w.relay.Authorize(ctx, gate.SurfaceReq, []nostr.Filter{{Kinds: []int{30090, 30091}, Tags: nostr.TagMap{"d": ids}}})
		if err != nil {
			return relay.RefusalOf(err).Error()
		}
		return ""
	}
	names := func(n int) (ids []string) {
		for i := range n {
			ids = append(ids, "job-"+strings.Repeat("x", i+1))
		}
		return ids
	}
	if got := ask(as(mara, guesser), append(names(990), id, id)...); got != "" {
		t.Fatalf("refused: %s", got)
	}
	for range 20 {
		if got := ask(as(mara, guesser), id); got != "" { // what is shown costs no guess
			t.Fatalf("refused: %s", got)
		}
	}
	// An event under another's id counts as a guess, and so does a read over the
	// API.
	if a := w.relay.Submit(as(mara, guesser), relay.Submission{Event: w.stateOf(mara, id, mara.Pub, niptemp.Open, "", "mine")}); a.Message() != store.WhyTaken.Error() {
		t.Fatalf("%+v", a)
	}
	wantCode(t, "a read of none", errOf(w.Entries(as(mara, guesser), holder(mara), "none", EntryQuery{})), NotFound)
	limited := "rate-limited: " + store.GuessedText
	if got := ask(as(mara, guesser), names(9)...); got != limited {
		t.Errorf("the 1,001st: %q", got)
	}
	for what, ids := range map[string][]string{"one that is there": {id}, "one that is not": {"none"}} {
		if got := ask(as(mara, guesser), ids...); got != limited {
			t.Errorf("%s: %q", what, got)
		}
		_, err := w.Entries(as(mara, guesser), holder(mara), ids[0], EntryQuery{})
		wantCode(t, what+", over the API", err, RateLimited)
		a := w.relay.Submit(as(mara, guesser), relay.Submission{Event: w.stateOf(mara, ids[0], mara.Pub, niptemp.Open, "", "mine")})
		if a.OK || a.Message() != limited {
			t.Errorf("%s, taken: %+v", what, a)
		}
	}
	salt := []byte("sixteen bytes of")
	own := must[string](t)(niptemp.NewID(mara.Pub, salt))
	if a := w.relay.Submit(as(mara, guesser), relay.Submission{Event: w.own(mara, salt, w.stateOf(mara, own, mara.Pub, niptemp.Open, "", "mine"))}); !a.OK {
		t.Errorf("an id of one's own: %+v", a)
	}
	for name, got := range map[string]string{
		"a party": ask(as(anna, guesser), id), "its worker": ask(as(will, guesser), id), "another share": ask(as(mara, fairness.Who{Share: "192.0.2.2"}), id),
	} {
		if got != "" {
			t.Errorf("%s is refused: %s", name, got)
		}
	}
	if got := must[Contract](t)(w.Get(as(will, guesser), holder(will), id)); got.PosterPubKey != anna.Pub {
		t.Errorf("its worker gets %+v", got)
	}
	if _, err := w.relay.Authorize(as(mara, guesser), gate.SurfaceReq, []nostr.Filter{{Kinds: []int{30090}, Authors: []string{mara.Pub}, Tags: nostr.TagMap{"d": names(5)}}}); err != nil {
		t.Errorf("one's own entries: %v", err)
	}
}

// Keys on which the parties agreed take part in their contract, also when the
// share that asks has no guess left.
func TestAgreedKeysHaveAPart(t *testing.T) {
	w := newWorld(t)
	id := w.disputed(w.agreement(0))
	ctx := fairness.With(t.Context(), fairness.Who{Share: "192.0.2.1"})
	for i := range 1000 {
		wantCode(t, "a guess", errOf(w.Entries(ctx, holder(oper), "none-"+strconv.Itoa(i), EntryQuery{})), NotFound)
	}
	if got := must[Contract](t)(w.Get(ctx, holder(oper), id)); got.Status != niptemp.Disputed {
		t.Errorf("the decider gets %+v", got)
	}
	must[EntryPage](t)(w.Entries(ctx, holder(w.self), id, EntryQuery{})) // the expirer
	wantCode(t, "a stranger", errOf(w.Entries(ctx, holder(mara), id, EntryQuery{})), RateLimited)
	wantCode(t, "one that is not there", errOf(w.Get(ctx, holder(oper), "none")), RateLimited)
}

// The number of guesses left does not reveal whether a contract exists that the
// stranger may not see.
func TestGuessesTellNothing(t *testing.T) {
	w := newWorld(t, func(o *gate.Options) { o.Contracts = gate.ContractsParties })
	const id = "job-17"
	w.mustPut(w.stateOf(anna, id, will.Pub, niptemp.Open, "", "job"))
	for what, id := range map[string]string{"192.0.2.1": id, "192.0.2.2": "none"} {
		ctx := fairness.With(t.Context(), fairness.Who{Share: what})
		for i := range 1000 {
			if _, err := w.Entries(ctx, holder(mara), id, EntryQuery{}); CodeOf(err) != NotFound {
				t.Fatalf("%s, guess %d: %v", id, i, err)
			}
		}
		wantCode(t, id, errOf(w.Entries(ctx, holder(mara), id, EntryQuery{})), RateLimited)
		wantCode(t, "another", errOf(w.Entries(ctx, holder(mara), "other", EntryQuery{})), RateLimited)
	}
}

// A date ahead locks nobody out: a move may be a minute ahead at most, and the
// next may be as much earlier.
func TestDateAheadLocksNobodyOut(t *testing.T) {
	for ahead, taken := range map[time.Duration]bool{895 * time.Second: false, 61 * time.Second: false, 60 * time.Second: true} {
		w := newWorld(t)
		posts, works := holder(anna), holder(will)
		const id = "f47ac10b-58cc-4372-a567-0e02b2c3d479"
		w.mustPut(w.stateOf(anna, id, will.Pub, niptemp.Open, "", "job"))
		w.clock.Add(second)
		w.mustPut(w.stateOf(will, id, anna.Pub, niptemp.Accepted, niptemp.Open, "job"))
		w.clock.Add(ahead)
		submitted := w.stateOf(will, id, anna.Pub, niptemp.Submitted, niptemp.Accepted, "job")
		w.clock.Add(-ahead)
		_, err := w.Move(t.Context(), works, id, MoveRequest{Status: niptemp.Submitted, Event: raw(submitted)})
		now, want := w.clock.Now(), Invalid
		if taken {
			want = 0
		}
		wantCode(t, "submit ahead", err, want)
		if !taken && !strings.Contains(err.Error(), now.UTC().Format(time.RFC3339)) {
			t.Errorf("the refusal does not name the relay's time: %v", err)
		}
		from := niptemp.Accepted
		if taken {
			from = niptemp.Submitted
		}
		disputed := w.stateOf(anna, id, will.Pub, niptemp.Disputed, from, "job")
		_, err = w.Move(t.Context(), posts, id, MoveRequest{Status: niptemp.Disputed, Event: raw(disputed)})
		wantCode(t, "the other's move", err, 0)
	}
}

// Two moves of one author within one second have no order: the author is told
// to wait.
func TestTwoMovesInASecond(t *testing.T) {
	w := newWorld(t)
	const id = "f47ac10b-58cc-4372-a567-0e02b2c3d479"
	w.mustPut(w.stateOf(anna, id, will.Pub, niptemp.Open, "", "job"))
	// Another author's move in the same second is accepted: the order of arrival
	// decides.
	wantCode(t, "accept", errOf(w.Move(t.Context(), holder(will), id, MoveRequest{Status: niptemp.Accepted, Event: raw(w.stateOf(will, id, anna.Pub, niptemp.Accepted, niptemp.Open, "job"))})), 0)
	submitted := w.stateOf(will, id, anna.Pub, niptemp.Submitted, niptemp.Accepted, "job")
	_, err := w.Move(t.Context(), holder(will), id, MoveRequest{Status: niptemp.Submitted, Event: raw(submitted)})
	if wantCode(t, "submit", err, Invalid); err != nil && !strings.Contains(err.Error(), "wait a second") {
		t.Error(err)
	}
	w.clock.Add(second)
	submitted = w.stateOf(will, id, anna.Pub, niptemp.Submitted, niptemp.Accepted, "job")
	wantCode(t, "a second later", errOf(w.Move(t.Context(), holder(will), id, MoveRequest{Status: niptemp.Submitted, Event: raw(submitted)})), 0)
}
