package contracts_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/niptemp"
)

// committed is a contract id that commits to a poster, and its salt's tag.
func committed(tb testing.TB, poster storetest.Key, seed byte) (id string, tag nostr.Tag) {
	tb.Helper()
	salt := make([]byte, niptemp.SaltSize)
	salt[0] = seed
	id, err := niptemp.NewID(poster.Pub, salt)
	if err != nil {
		tb.Fatal(err)
	}
	return id, niptemp.SaltTag(salt)
}

// saltedState is a state with further tags.
func saltedState(k, to storetest.Key, at int64, id, previous, status string, more ...nostr.Tag) *nostr.Event {
	ev := k.State(to, at, id, previous, status)
	ev.Tags = append(ev.Tags, more...)
	if err := ev.Sign(k.Secret); err != nil {
		panic(err)
	}
	return ev
}

func saltedEntry(k, to storetest.Key, at int64, id, text string, more ...nostr.Tag) *nostr.Event {
	ev := k.Entry(to, at, id, text)
	ev.Tags = append(ev.Tags, more...)
	if err := ev.Sign(k.Secret); err != nil {
		panic(err)
	}
	return ev
}

// means is what an id means to a key: poster, worker and status.
func means(t *testing.T, s *sqlite.Store, id string, key storetest.Key) string {
	t.Helper()
	p, err := s.ContractPair(t.Context(), id, key.Pub, "")
	if err != nil {
		t.Fatal(err)
	}
	if p == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %s %s", nameOf(p.Poster), nameOf(p.Worker), p.Status)
}

func nameOf(pub string) string {
	for name, k := range map[string]storetest.Key{"alice": alice, "bob": bob, "carol": carol, "dave": dave} {
		if k.Pub == pub {
			return name
		}
	}
	return "nobody"
}

var dave = storetest.NewKey("dave")

// Whoever learns a contract's id cannot make it mean his contract for anybody
// (the takeovers a, b and c of the review).
func TestIDMeansItsOwnersContract(t *testing.T) {
	for name, id := range map[string]string{"chosen": "c", "committed": ""} {
		t.Run(name, func(t *testing.T) {
			s := storetest.MustOpen(t)
			var salt []nostr.Tag
			if id == "" {
				made, tag := committed(t, alice, 1)
				id, salt = made, []nostr.Tag{tag}
			}
			put(t, s, saltedState(alice, alice, 0, id, "", "open", salt...), store.Stored)
			before := means(t, s, id, dave)
			wantRefused(t, s, carol.State(bob, 1, id, "", "open"), store.WhyTaken.Error())   // names the worker
			wantRefused(t, s, carol.State(carol, 1, id, "", "open"), store.WhyTaken.Error()) // an offer
			wantRefused(t, s, carol.State(dave, 1, id, "", "open"), store.WhyTaken.Error())  // with a sockpuppet
			if after := means(t, s, id, dave); after != before || after != "alice nobody open" {
				t.Errorf("it meant %s, and means %s", before, after)
			}
			put(t, s, bob.State(alice, 2, id, "open", "accepted"), store.Stored)
			for _, k := range []storetest.Key{alice, bob, carol, dave, {}} {
				if got := means(t, s, id, k); got != "alice bob accepted" {
					t.Errorf("to %s it means %s", nameOf(k.Pub), got)
				}
			}
			wantWhole(t, s)
		})
	}
}

// Under an id that commits to its poster others write nothing; under another,
// what they write stays between them.
func TestOthersUnderAnID(t *testing.T) {
	s := storetest.MustOpen(t)
	id, tag := committed(t, alice, 1)
	put(t, s, bob.Entry(alice, -1, id, "may I?"), store.Stored) // nothing is known yet
	put(t, s, saltedState(alice, bob, 0, id, "", "open", tag), store.Stored)
	wantRefused(t, s, carol.Entry(alice, 1, id, "x"), store.WhyTaken.Error())
	wantRefused(t, s, carol.Entry(dave, 1, id, "x"), store.WhyTaken.Error())
	wantRefused(t, s, carol.State(alice, 1, id, "open", "accepted"), store.WhyTaken.Error())
	put(t, s, bob.State(alice, 1, id, "open", "accepted"), store.Stored)
	put(t, s, bob.Entry(alice, 2, id, "yes"), store.Replaced)
	wantRefused(t, s, carol.Entry(alice, 3, id, "x"), store.WhyTaken.Error())

	offer, tag := committed(t, alice, 2)
	put(t, s, saltedState(alice, alice, 0, offer, "", "open", tag), store.Stored)
	wantRefused(t, s, carol.Entry(alice, 1, offer, "x"), store.WhyTaken.Error())
	put(t, s, bob.State(alice, 1, offer, "open", "accepted"), store.Stored)
	wantRefused(t, s, carol.State(alice, 2, offer, "open", "accepted"), store.WhyTaken.Error())
	wantWhole(t, s)
}

// An id that commits to somebody is his even when others were here first, and
// by any event of his that shows it.
func TestCommittedOwnerDisplaces(t *testing.T) {
	id, tag := committed(t, alice, 1)
	for name, ev := range map[string]*nostr.Event{
		"an open":  saltedState(alice, bob, 5, id, "", "open", tag),
		"an entry": saltedEntry(alice, bob, 5, id, "hello", tag),
	} {
		for _, imported := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", imported ", imported), func(t *testing.T) {
				s := storetest.MustOpen(t)
				put(t, s, carol.State(bob, 0, id, "", "open"), store.Stored)
				if r := s.Put(t.Context(), ev, store.PutOptions{Import: imported}); !r.Outcome.OK() {
					t.Fatalf("%+v", r)
				}
				if ev.Kind == niptemp.KindEntry {
					put(t, s, saltedState(alice, bob, 6, id, "", "open", tag), store.Stored)
				}
				if got := means(t, s, id, dave); got != "alice bob open" {
					t.Errorf("it means %s", got)
				}
				if got := means(t, s, id, bob); got != "alice bob open" {
					t.Errorf("to the worker it means %s", got)
				}
				wantRefused(t, s, carol.State(dave, 7, id, "", "open"), store.WhyTaken.Error())
				// His own contract is still there for its parties, by its
				// poster.
				p, err := s.ContractPair(t.Context(), id, bob.Pub, carol.Pub)
				if err != nil || p == nil || p.Poster != carol.Pub {
					t.Errorf("the displaced contract: %+v, %v", p, err)
				}
				if p, err := s.ContractPair(t.Context(), id, dave.Pub, carol.Pub); err != nil || p != nil {
					t.Errorf("a stranger finds it: %+v, %v", p, err)
				}
				report, err := s.Check(t.Context())
				if err != nil || !report.OK() || !slices.Equal(report.Displaced, []store.Displaced{{Contract: id, Poster: carol.Pub}}) {
					t.Errorf("check reports %+v, %v", report, err)
				}
			})
		}
	}
}

// Who accepted somebody's contract with his own signature has dealt with him,
// whoever owns the id.
func TestAcceptanceDecides(t *testing.T) {
	s := storetest.MustOpen(t)
	id, tag := committed(t, alice, 1)
	put(t, s, carol.State(bob, 0, id, "", "open"), store.Stored)
	put(t, s, bob.State(carol, 1, id, "open", "accepted"), store.Stored)
	put(t, s, saltedState(alice, bob, 2, id, "", "open", tag), store.Stored)
	for k, want := range map[storetest.Key]string{bob: "carol bob accepted", carol: "carol bob accepted", alice: "alice bob open", dave: "alice bob open"} {
		if got := means(t, s, id, k); got != want {
			t.Errorf("to %s it means %s, want %s", nameOf(k.Pub), got, want)
		}
	}
	p, err := s.ContractPair(t.Context(), id, bob.Pub, alice.Pub)
	if err != nil || p == nil || p.Poster != alice.Pub {
		t.Errorf("the owner's, asked for by name: %+v, %v", p, err)
	}
}

// Ownership stays when all else goes.
func TestOwnershipOutlivesEvents(t *testing.T) {
	for name, gone := range map[string]func(t *testing.T, s *sqlite.Store, open *nostr.Event){
		"deleted": func(t *testing.T, s *sqlite.Store, open *nostr.Event) {
			put(t, s, alice.Delete(9, storetest.Address(open)), store.Stored)
		},
		"vanished": func(t *testing.T, s *sqlite.Store, _ *nostr.Event) {
			put(t, s, contractEvent(alice, 62, "x", bob.Pub, storetest.Start.Unix()+9, "", nostr.Tag{"relay", "ALL_RELAYS"}), store.Stored)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := storetest.Options(t)
			s, err := sqlite.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			open := alice.State(bob, 0, "c", "", "open")
			put(t, s, open, store.Stored)
			gone(t, s, open)
			if n := rows(t, s, "events WHERE kind = 30091"); n != 0 {
				t.Fatal("the event is still there")
			}
			backup := o.Path + ".backup"
			if err := s.Backup(t.Context(), backup); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			o.Path = backup
			again, err := sqlite.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			wantRefused(t, again, carol.State(bob, 20, "c", "", "open"), store.WhyTaken.Error())
		})
	}
}

// Of two who open a contract under one id at the same time, exactly one has it.
func TestConcurrentOpens(t *testing.T) {
	s := storetest.MustOpen(t)
	for round := range 20 {
		id := fmt.Sprint("race-", round)
		posters := []storetest.Key{alice, bob, carol, dave}
		results := make([]store.Result, len(posters))
		var wg sync.WaitGroup
		for i, k := range posters {
			wg.Go(func() { results[i] = s.Put(t.Context(), k.State(k, 0, id, "", "open"), store.PutOptions{}) })
		}
		wg.Wait()
		winner := ""
		for i, r := range results {
			switch {
			case r.Outcome.OK() && winner == "":
				winner = nameOf(posters[i].Pub)
			case r.Outcome != store.Refused || r.Message() != store.WhyTaken.Error():
				t.Errorf("round %d: %+v", round, results)
			}
		}
		if got := means(t, s, id, storetest.Key{}); got != winner+" nobody open" {
			t.Errorf("%s won, and it means %s", winner, got)
		}
	}
}

// New contracts need ids that nobody guesses; what is known, entries and
// imports pass.
func TestGuessableIDs(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.StrictIDs = true })
	id, tag := committed(t, alice, 1)
	wantRefused(t, s, alice.State(bob, 0, "job-17", "", "open"), "invalid: a new contract needs an id that cannot be guessed")
	put(t, s, alice.State(bob, 0, strings.Repeat("a1", 16), "", "open"), store.Stored)
	put(t, s, saltedState(alice, bob, 0, id, "", "open", tag), store.Stored)
	put(t, s, alice.Entry(bob, 0, "job-17", "x"), store.Stored)
	restore(t, s, alice.State(alice, 0, "job-18", "", "open"), store.Stored)
	put(t, s, alice.State(bob, 1, "job-18", "", "open"), store.Replaced) // names the worker of what is known
}

func TestStatesKeepToTheClock(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	at := func(ev *nostr.Event, unix int64) *nostr.Event {
		ev.CreatedAt = nostr.Timestamp(unix)
		if err := ev.Sign(map[string]string{alice.Pub: alice.Secret, bob.Pub: bob.Secret}[ev.PubKey]); err != nil {
			t.Fatal(err)
		}
		return ev
	}
	now := clock.Now().Unix()
	wantRefused(t, s, at(alice.State(bob, 0, "c", "", "open"), now+61), "invalid: created_at is more than 60 seconds ahead of this relay's clock, which says "+clock.Now().UTC().Format(time.RFC3339))
	put(t, s, at(alice.State(bob, 0, "c", "", "open"), now+60), store.Stored)
	wantRefused(t, s, at(bob.State(alice, 0, "c", "open", "accepted"), now-1), "invalid: created_at must not be more than 60 seconds earlier")
	put(t, s, at(bob.State(alice, 0, "c", "open", "accepted"), now), store.Stored) // earlier than the open: the clocks differ
	restore(t, s, at(bob.State(alice, 0, "c", "accepted", "submitted"), now+9999), store.Replaced)
	if got := means(t, s, "c", dave); got != "alice bob submitted" {
		t.Errorf("what was imported: %s", got)
	}
}

// An accepted pair has the place and the terms of the offer.
func TestPairInheritsTheOffer(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	put(t, s, alice.State(alice, 0, "c", "", "open"), store.Stored)
	if err := s.Tell(t.Context(), store.SetContractTerms{Contract: "c", Poster: alice.Pub, Worker: "", Terms: store.ContractTerms{Deadline: 7, Arbitrator: dave.Pub}}); err != nil {
		t.Fatal(err)
	}
	offer, err := s.ContractPair(t.Context(), "c", "", "")
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, alice.State(carol, 0, "another", "", "open"), store.Stored)
	clock.Add(time.Hour)
	put(t, s, bob.State(alice, 1, "c", "open", "accepted"), store.Stored)
	p, err := s.ContractPair(t.Context(), "c", "", "")
	if err != nil || p.N != offer.N || p.At != offer.At || p.Deadline != 7 || p.Arbitrator != dave.Pub || p.Worker != bob.Pub {
		t.Errorf("%+v, %v\nthe offer: %+v", p, err, offer)
	}
}

// One signed set of events with ids that commit to their posters, in any order
// of arrival by import, gives the same owner, thread and status as the relay
// had that took them move by move.
func TestAnyOrderOfImport(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	rounds := 30
	if testing.Short() {
		rounds = 6
	}
	reached := map[string]bool{}
	for round := range rounds {
		clock := storetest.NewClock()
		first := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
		id, tag := committed(t, alice, byte(round))
		var taken []*nostr.Event
		at := int64(0)
		submit := func(ev *nostr.Event) {
			if res := first.Put(t.Context(), ev, store.PutOptions{}); res.Outcome.OK() || res.Outcome == store.Stale {
				taken = append(taken, ev)
			}
		}
		if round%3 == 0 { // a stranger was here before
			submit(carol.State([]storetest.Key{carol, bob, alice}[r.IntN(3)], at, id, "", "open"))
			submit(bob.State(carol, at+1, id, "open", "accepted"))
			submit(bob.Entry(carol, at+1, id, "to the stranger"))
		}
		submit(bob.Entry(alice, at, id, "before the open"))
		open := alice
		if r.IntN(2) == 0 {
			open = bob
		}
		submit(saltedState(alice, open, at+2, id, "", "open", tag))
		at += 3
		for range 30 {
			at += r.Int64N(3)
			who, to := alice, bob
			if r.IntN(2) == 0 {
				who, to = to, who
			}
			var tags []nostr.Tag
			if who == alice {
				tags = append(tags, tag)
			}
			if r.IntN(3) == 0 {
				submit(saltedEntry(who, to, at, id, fmt.Sprint("entry ", at), tags...))
				continue
			}
			before := strings.Fields(means(t, first, id, storetest.Key{}))
			next := niptemp.Statuses()[1+r.IntN(4)]
			submit(saltedState(who, to, at, id, before[2], string(next), tags...))
			submit(carol.Entry(alice, at, id, "a stranger's"))
		}
		want := means(t, first, id, dave) + " " + threadOf(t, first, id)
		reached[strings.Fields(want)[2]] = true
		for range 4 {
			r.Shuffle(len(taken), func(i, j int) { taken[i], taken[j] = taken[j], taken[i] })
			second := storetest.MustOpen(t)
			for _, ev := range taken {
				if res := second.Put(t.Context(), ev, store.PutOptions{Import: true}); res.Outcome == store.Failed || res.Outcome == store.Refused {
					t.Fatalf("%+v", res)
				}
			}
			if got := means(t, second, id, dave) + " " + threadOf(t, second, id); got != want {
				t.Fatalf("round %d: got  %s\nwant %s", round, got, want)
			}
			wantWhole(t, second)
		}
	}
	if len(reached) < 3 && rounds > 6 {
		t.Errorf("only %v were reached", reached)
	}
}

// An existing database keeps its contracts; where two posters share an id, who
// came first owns it.
func TestOldContractsGetOwners(t *testing.T) {
	old, err := os.ReadFile("../../../../../testdata/stores/v1/engramd.db")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "engramd.db")
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	low, high := min(carol.Pub, dave.Pub), max(carol.Pub, dave.Pub)
	outside(t, path, fmt.Sprintf(`INSERT INTO contract_states(contract, a, b, poster, status, created_at, event)
		SELECT contract, x'%s', x'%s', x'%s', 'open', max(created_at) + 1, x'%064d' FROM contract_states GROUP BY contract LIMIT 1`, low, high, carol.Pub, 7))
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Path = path })
	for what, want := range map[string]int{
		"contract_owners": rows(t, s, "(SELECT DISTINCT contract FROM contract_states)"),
		"contract_owners AS o JOIN contract_states AS s ON s.contract = o.contract AND s.poster = o.owner AND s.n = (SELECT min(n) FROM contract_states WHERE contract = o.contract)": rows(t, s, "contract_owners"),
		"contract_steps WHERE step IS NOT NULL AND live = 1 AND length(author) = 32 AND status <> ''":                                                                                 rows(t, s, "(SELECT id FROM events WHERE kind = 30091 UNION ALL SELECT id FROM history WHERE kind = 30091)"),
		"contract_owners WHERE salt IS NOT NULL OR owner = x'" + carol.Pub + "'":                                                                                                      0,
	} {
		if got := rows(t, s, strings.ReplaceAll(what, "%", "%%")); got != want || want == 0 && !strings.Contains(what, "salt") {
			t.Errorf("%s: %d rows, want %d", what, got, want)
		}
	}
	report, err := s.Check(t.Context())
	if err != nil || len(report.Displaced) != 1 || report.Displaced[0].Poster != carol.Pub || len(report.Astray) != 0 {
		t.Errorf("check reports %+v, %v", report, err)
	}
}

// threadOf lists the texts of what an id means to everybody, in no order of
// arrival.
func threadOf(t *testing.T, s *sqlite.Store, id string) string {
	t.Helper()
	p, err := s.ContractPair(t.Context(), id, "", "")
	if err != nil || p == nil {
		t.Fatal(p, err)
	}
	entries, _, err := s.ThreadPage(t.Context(), store.Thread{Contract: id, Poster: p.Poster, Worker: p.Worker}, 500, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, fmt.Sprintf("%x", e.ID[:4]))
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// What is imported without its open is there, marked, until the open comes;
// what does not follow is listed, and tried again.
func TestImportWithoutTheOpen(t *testing.T) {
	s := storetest.MustOpen(t)
	accepted, submitted := bob.State(alice, 2, "c", "open", "accepted"), bob.State(alice, 3, "c", "accepted", "submitted")
	restore(t, s, submitted, store.Stored)
	p, err := s.ContractPair(t.Context(), "c", "", "")
	if err != nil || p == nil || !p.Unproven || p.Status != "submitted" || p.Poster != alice.Pub {
		t.Fatalf("%+v, %v", p, err)
	}
	put(t, s, alice.State(bob, 1, "c", "", "open"), store.Stored) // by EVENT, as from an outbox
	if p, err = s.ContractPair(t.Context(), "c", "", ""); err != nil || p.Unproven || p.Status != "open" {
		t.Fatalf("%+v, %v", p, err)
	}
	report, err := s.Check(t.Context())
	if err != nil || !report.OK() || !slices.Equal(report.Astray, []store.Astray{{Contract: "c", EventID: submitted.ID}}) {
		t.Errorf("check reports %+v, %v", report, err)
	}
	wantRefused(t, s, bob.State(alice, 3, "c", "open", "accepted"), "invalid: its author's last state") // NIP-01
	restore(t, s, accepted, store.Stale)
	if p, err = s.ContractPair(t.Context(), "c", "", ""); err != nil || p.Status != "submitted" {
		t.Errorf("%+v, %v", p, err)
	}
	put(t, s, alice.State(bob, 4, "c", "submitted", "completed"), store.Replaced)
	wantWhole(t, s)
}

// A move that is judged as it arrives keeps its place; what was imported before
// waits for it.
func TestImportWaitsForAMove(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.State(bob, 0, "c", "", "open"), store.Stored)
	restore(t, s, alice.State(bob, 9, "c", "submitted", "completed"), store.Replaced)
	put(t, s, bob.State(alice, 1, "c", "open", "accepted"), store.Stored)
	if got := means(t, s, "c", dave); got != "alice bob accepted" {
		t.Errorf("it means %s", got)
	}
	put(t, s, bob.State(alice, 2, "c", "accepted", "submitted"), store.Replaced)
	if got := means(t, s, "c", dave); got != "alice bob completed" {
		t.Errorf("it means %s", got)
	}
	wantRefused(t, s, bob.Entry(alice, 10, "c", "x"), "blocked: contract c is completed")
}

// How many of the ids that a reader names show him nothing, and what is known
// of them when his guesses are used up.
func TestContractsUnseen(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.State(bob, 0, "state", "", "open"), store.Stored)
	put(t, s, alice.Entry(bob, 0, "entry", "x"), store.Stored)
	put(t, s, alice.Fake(30090, 0, storetest.Payload("x"), nostr.Tag{"d", "sealed"}, nostr.Tag{"p", bob.Pub}, nostr.Tag{"t", "note"}), store.Stored)
	takenBack := alice.Entry(bob, 0, "withdrawn", "x")
	put(t, s, takenBack, store.Stored)
	put(t, s, alice.Delete(1, takenBack.ID), store.Stored)
	ids := []string{"state", "entry", "sealed", "withdrawn", "none", "none", "nor this"}
	for _, tt := range []struct {
		reader gate.Reader
		known  bool
		want   int
	}{{gate.Reader{}, false, 4}, {gate.NewReader(carol.Pub), false, 4}, {gate.NewReader(alice.Pub), false, 2},
		{gate.NewReader(carol.Pub), true, 6}, {gate.NewReader(alice.Pub), true, 2}, {gate.NewReader(bob.Pub), true, 5}} {
		got, err := s.ContractsUnseen(t.Context(), tt.reader, ids, tt.known)
		if err != nil || got != tt.want {
			t.Errorf("%v, known %v: %d, want %d (%v)", tt.reader.Keys(), tt.known, got, tt.want, err)
		}
	}
}
