package contracts_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/contracts"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/niptemp"
)

var judge, operator, herald = storetest.NewKey("judge"), storetest.NewKey("operator"), storetest.NewKey("herald")

// deciding is a state by somebody who is no party, about one or two keys.
func deciding(k storetest.Key, at int64, id, previous, status string, about ...storetest.Key) *nostr.Event {
	var more []nostr.Tag
	for _, other := range about[1:] {
		more = append(more, nostr.Tag{"p", other.Pub})
	}
	return saltedState(k, about[0], at, id, previous, status, more...)
}

// settled are terms of which the deadline is some seconds after the start.
func settled(deadline int64) []nostr.Tag {
	return niptemp.Terms{Arbitrator: judge.Pub, Decider: operator.Pub, Expirer: herald.Pub, Deadline: storetest.Start.Unix() + deadline}.Tags()
}

// toldMoves are the moves of what an id means, in no order of arrival.
func toldMoves(t *testing.T, s *sqlite.Store, id string) string {
	t.Helper()
	p, err := s.ContractPair(t.Context(), id, "", "")
	if err != nil || p == nil {
		t.Fatal(p, err)
	}
	moves, total, err := s.ContractMoves(t.Context(), p, true, 500, 0, 1<<20)
	if err != nil || total != len(moves) {
		t.Fatal(total, len(moves), err)
	}
	var all []string
	for _, m := range moves {
		all = append(all, string(m.Data[7:15]))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestDecisionsInAnyOrderOfImport: what was decided is decided, and stands in
// the thread, whatever came first, and what others say who were not named is in
// neither.
func TestDecisionsInAnyOrderOfImport(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	for name, c := range map[string]struct {
		want   string
		events []*nostr.Event
		junk   []*nostr.Event
	}{
		"the arbitrator": {"alice bob completed", []*nostr.Event{
			saltedState(alice, alice, 0, "c", "", "open", settled(90)...), saltedState(bob, alice, 1, "c", "open", "accepted", settled(90)...),
			bob.State(alice, 2, "c", "accepted", "disputed"), deciding(judge, 3, "c", "disputed", "completed", alice, bob),
		}, []*nostr.Event{deciding(carol, 3, "c", "disputed", "cancelled", alice, bob)}},
		"the decider of an offer to one": {"alice bob cancelled", []*nostr.Event{
			saltedState(alice, bob, 0, "c", "", "open", settled(90)...), saltedState(bob, alice, 1, "c", "open", "accepted", settled(90)...),
			alice.State(bob, 2, "c", "accepted", "disputed"), deciding(operator, 3, "c", "disputed", "cancelled", alice, bob),
		}, []*nostr.Event{deciding(dave, 2, "c", "disputed", "completed", alice, bob), deciding(carol, 3, "c", "disputed", "completed", bob, alice)}},
		"the expirer of an offer": {"alice nobody expired", []*nostr.Event{
			saltedState(alice, alice, 0, "c", "", "open", settled(5)...), deciding(herald, 5, "c", "open", "expired", alice),
		}, []*nostr.Event{deciding(carol, 6, "c", "open", "expired", alice)}},
		"the expirer of an offer to one": {"alice bob expired", []*nostr.Event{
			saltedState(alice, bob, 0, "c", "", "open", settled(5)...), deciding(herald, 5, "c", "open", "expired", alice),
		}, []*nostr.Event{deciding(judge, 6, "c", "open", "expired", alice)}},
		"the expirer": {"alice bob expired", []*nostr.Event{
			saltedState(alice, alice, 0, "c", "", "open", settled(5)...), saltedState(bob, alice, 1, "c", "open", "accepted", settled(5)...),
			deciding(herald, 6, "c", "accepted", "expired", alice, bob),
		}, []*nostr.Event{deciding(judge, 6, "c", "accepted", "expired", alice, bob)}},
	} {
		t.Run(name, func(t *testing.T) {
			first := storetest.MustOpen(t)
			for _, ev := range c.events {
				if res := first.Put(t.Context(), ev, store.PutOptions{}); !res.Outcome.OK() {
					t.Fatalf("%+v", res)
				}
			}
			for _, ev := range c.junk {
				wantRefused(t, first, ev, "invalid: ")
			}
			want := means(t, first, "c", dave) + "; " + toldMoves(t, first, "c")
			if !strings.HasPrefix(want, c.want+"; ") || strings.Count(want, " ") != 2+len(c.events) {
				t.Fatalf("move by move: %s", want)
			}
			r := rand.New(rand.NewPCG(7, 7))
			all := slices.Concat(c.events, c.junk)
			for range 8 {
				r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				s := storetest.MustOpen(t)
				for _, ev := range all {
					if res := s.Put(t.Context(), ev, store.PutOptions{Import: true}); res.Err != nil || res.Outcome == store.Refused {
						t.Fatalf("%+v", res)
					}
				}
				if got := means(t, s, "c", dave) + "; " + toldMoves(t, s, "c"); got != want {
					t.Fatalf("got  %s\nwant %s", got, want)
				}
				wantVain(t, s, c.junk)
			}
		})
	}
}

// TestExpiryByParties: an older relay let a party say that a contract has
// expired. Where the open names a deadline that leads nowhere, and is listed,
// whatever came first.
func TestExpiryByParties(t *testing.T) {
	deadline := niptemp.Terms{Deadline: storetest.Start.Unix() + 5}.Tags()
	for name, c := range map[string]struct {
		want   string
		astray int
		events []*nostr.Event
	}{
		"an offer":               {"alice bob expired", 0, []*nostr.Event{alice.State(bob, 0, "c", "", "open"), bob.State(alice, 9, "c", "open", "expired")}},
		"a contract":             {"alice bob expired", 0, []*nostr.Event{alice.State(bob, 0, "c", "", "open"), bob.State(alice, 1, "c", "open", "accepted"), alice.State(bob, 9, "c", "accepted", "expired")}},
		"an offer, dated":        {"alice bob open", 1, []*nostr.Event{saltedState(alice, bob, 0, "c", "", "open", deadline...), bob.State(alice, 9, "c", "open", "expired")}},
		"a contract, dated":      {"alice bob accepted", 1, []*nostr.Event{saltedState(alice, bob, 0, "c", "", "open", deadline...), bob.State(alice, 1, "c", "open", "accepted"), alice.State(bob, 9, "c", "accepted", "expired")}},
		"an offer to all, dated": {"alice bob accepted", 1, []*nostr.Event{saltedState(alice, alice, 0, "c", "", "open", deadline...), bob.State(alice, 1, "c", "open", "accepted"), alice.State(bob, 9, "c", "accepted", "expired")}},
	} {
		r := rand.New(rand.NewPCG(3, 3))
		for range 6 {
			s := storetest.MustOpen(t)
			for _, ev := range c.events {
				if res := s.Put(t.Context(), ev, store.PutOptions{Import: true}); res.Err != nil || res.Outcome == store.Refused {
					t.Fatalf("%+v", res)
				}
			}
			if got := means(t, s, "c", dave); got != c.want {
				t.Errorf("%s: %s", name, got)
			}
			report, err := s.Check(t.Context())
			if err != nil || !report.OK() || len(report.Astray) != c.astray || len(report.Vain) != 0 {
				t.Errorf("%s: check reports %+v, %v", name, report, err)
			}
			r.Shuffle(len(c.events), func(i, j int) { c.events[i], c.events[j] = c.events[j], c.events[i] })
		}
	}
}

// TestAcceptanceOrExpiry: of an acceptance and the word that the offer has
// expired, which come together, one holds.
func TestAcceptanceOrExpiry(t *testing.T) {
	for i := range 12 {
		s := storetest.MustOpen(t)
		put(t, s, saltedState(alice, alice, 0, "c", "", "open", settled(5)...), store.Stored)
		var both sync.WaitGroup
		var accepted, expired store.Result
		both.Go(func() {
			accepted = s.Put(t.Context(), saltedState(bob, alice, 6, "c", "open", "accepted", settled(5)...), store.PutOptions{})
		})
		both.Go(func() {
			expired = s.Put(t.Context(), deciding(herald, 6, "c", "open", "expired", alice), store.PutOptions{})
		})
		both.Wait()
		want := map[bool]string{true: "alice bob accepted", false: "alice nobody expired"}[accepted.Outcome.OK()]
		if got := means(t, s, "c", dave); got != want || accepted.Outcome.OK() == expired.Outcome.OK() {
			t.Fatalf("round %d: accepted %+v, expired %+v: %s", i, accepted, expired, got)
		}
	}
}

// wantVain wants a check to list decisions as such that do not hold, and no
// others.
func wantVain(t *testing.T, s *sqlite.Store, events []*nostr.Event) {
	t.Helper()
	report, err := s.Check(t.Context())
	if err != nil || len(report.Vain) != len(events) || len(report.Astray) != 0 || !report.OK() {
		t.Fatalf("check reports %+v, %v", report, err)
	}
	for _, ev := range events {
		if !slices.Contains(report.Vain, store.Astray{Contract: ev.Tags.GetD(), EventID: ev.ID}) {
			t.Errorf("%s is not listed", ev.ID)
		}
	}
}

// TestJunkDecisionsHideNone: however many decisions of strangers were imported,
// that of the arbitrator is found.
func TestJunkDecisionsHideNone(t *testing.T) {
	s := storetest.MustOpen(t)
	for i := range 80 {
		k := storetest.NewKey("stranger " + strconv.Itoa(i))
		restore(t, s, deciding(k, -int64(i), "c", "disputed", "cancelled", alice, bob), store.Stored)
	}
	restore(t, s, deciding(judge, 3, "c", "disputed", "completed", alice, bob), store.Stored)
	put(t, s, saltedState(alice, bob, 0, "c", "", "open", settled(90)...), store.Stored)
	put(t, s, saltedState(bob, alice, 1, "c", "open", "accepted", settled(90)...), store.Stored)
	put(t, s, bob.State(alice, 2, "c", "accepted", "disputed"), store.Replaced)
	if got := means(t, s, "c", dave); got != "alice bob completed" {
		t.Errorf("it means %s", got)
	}
}

// TestDecisionsKeepToTheClock: as states do.
func TestDecisionsKeepToTheClock(t *testing.T) {
	s := storetest.MustOpen(t)
	for i, worker := range []storetest.Key{bob, carol} {
		put(t, s, saltedState(alice, worker, int64(i), "c", "", "open", settled(90)...), []store.Outcome{store.Stored, store.Replaced}[i])
		put(t, s, saltedState(worker, alice, 8, "c", "open", "accepted", settled(90)...), store.Stored)
		put(t, s, worker.State(alice, 9, "c", "accepted", "disputed"), store.Replaced)
	}
	wantRefused(t, s, deciding(judge, 62, "c", "disputed", "completed", alice, bob), "invalid: created_at is more than 60 seconds ahead")
	wantRefused(t, s, deciding(judge, -52, "c", "disputed", "completed", alice, bob), "invalid: created_at must not be more than 60 seconds earlier")
	put(t, s, deciding(judge, 10, "c", "disputed", "completed", alice, bob), store.Stored)
	wantRefused(t, s, deciding(judge, 10, "c", "disputed", "completed", alice, carol), "invalid: its author's last state") // NIP-01 keeps either
	put(t, s, deciding(judge, 11, "c", "disputed", "completed", alice, carol), store.Replaced)
}

// TestCasesAreBounded: of a contract that many have taken the arbitrator is
// given the cases of those who agreed first.
func TestCasesAreBounded(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, saltedState(alice, alice, 0, "c", "", "open", settled(90)...), store.Stored)
	put(t, s, saltedState(bob, alice, 1, "c", "open", "accepted", settled(90)...), store.Stored)
	for i := range contracts.MaxCases + 20 {
		restore(t, s, saltedState(storetest.NewKey(fmt.Sprint("late ", i)), alice, 1, "c", "open", "accepted", settled(90)...), store.Stored)
	}
	cases, err := s.Cases(context.Background(), []string{judge.Pub}, []string{"c"})
	if err != nil || len(cases) != contracts.MaxCases || cases[0].Worker != bob.Pub {
		t.Errorf("%d cases, %v", len(cases), err)
	}
	if cases, err = s.Cases(context.Background(), []string{operator.Pub, dave.Pub}, []string{"c"}); err != nil || len(cases) != 0 {
		t.Errorf("the decider has %d cases, %v", len(cases), err)
	}
}
