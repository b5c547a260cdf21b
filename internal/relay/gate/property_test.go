package gate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/gatetest"
	"engramd/internal/relay/gate/oracle"
)

// everyOptions returns all combinations of the options.
func everyOptions() []oracle.Options {
	var all []oracle.Options
	for _, wildcard := range []string{"", "exclude"} {
		for _, ids := range []string{"", "party"} {
			for _, contracts := range []string{"", "parties", "public"} {
				for _, rules := range gatetest.RuleSets {
					all = append(all, oracle.Options{Wildcard: wildcard, IDs: ids, Contracts: contracts, Rules: rules})
				}
			}
		}
	}
	all = append(all, oracle.Options{Replicas: []string{replicaOfAll}}, oracle.Options{Replicas: []string{replicaOfAll}, Wildcard: "exclude", IDs: "party", Contracts: "parties", Rules: gatetest.RuleSets[2]})
	return append(all, oracle.Options{AuthRequired: true}, oracle.Options{AuthRequired: true, Wildcard: "exclude", Contracts: "public", Rules: gatetest.RuleSets[1]})
}

func mustTable(t testing.TB, o oracle.Options) *gate.Table {
	t.Helper()
	table, err := gate.NewTable(gate.Options{Wildcard: o.Wildcard, IDs: o.IDs, Contracts: o.Contracts, Rules: o.Rules, Replicas: o.Replicas, AuthRequired: o.AuthRequired})
	if err != nil {
		t.Fatalf("NewTable(%+v): %v", o, err)
	}
	return table
}

// tally counts the outcomes of random cases, so that a generator which makes
// only refused or empty ones is noticed.
type tally struct{ refused, shown, hidden, byID, byD, byCase int }

// TestAgainstOracle compares both checks and the clauses with the oracle, for
// random readers, filters and events under every combination of options.
func TestAgainstOracle(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	var total tally
	for i, o := range everyOptions() {
		checkAgainstOracle(t, uint64(1000+i), o, rounds, &total)
	}
	t.Logf("%+v", total)
	if total.refused < 1000 || total.shown < 1000 || total.hidden < 1000 || total.byID < 20 || total.byD < 10 || total.byCase < 20 {
		t.Errorf("the cases are too one-sided to prove anything: %+v", total)
	}
}

// TestOracleKnowsEveryKind: the oracle has rules of its own. It would take a
// kind that it does not know for open, and so would a gate that forgot the
// kind.
func TestOracleKnowsEveryKind(t *testing.T) {
	table := mustTable(t, none)
	g := gatetest.New(12, 4)
	g.Unsigned = true
	for _, kind := range gate.Kinds() {
		if !slices.Contains(gatetest.Kinds, kind) {
			t.Errorf("gatetest makes no events of kind %d", kind)
		}
		gated := false
		for range 200 {
			gated = gated || oracle.Gated(oracle.Options{}, g.EventOf(kind))
		}
		if !gated {
			t.Errorf("kind %d is in the gate's table, and internal/relay/gate/oracle gates nothing of it", kind)
		}
		refuses := oracle.Refused(oracle.Options{}, nil, nostr.Filter{Kinds: []int{kind}}) != ""
		if table.Gated(kind) != refuses {
			t.Errorf("filters for kind %d: refused %v by the gate, %v by the oracle", kind, table.Gated(kind), refuses)
		}
	}
}

func FuzzAgainstOracle(f *testing.F) {
	options := everyOptions()
	f.Add(uint64(1), uint8(0))
	f.Add(uint64(2), uint8(len(options)-1))
	f.Fuzz(func(t *testing.T, seed uint64, which uint8) {
		checkAgainstOracle(t, seed, options[int(which)%len(options)], 5, &tally{})
	})
}

func checkAgainstOracle(t *testing.T, seed uint64, o oracle.Options, rounds int, total *tally) {
	t.Helper()
	g := gatetest.New(seed, 5)
	o = withReplica(g, o)
	table := mustTable(t, o)
	g.Unsigned = true
	events := g.Events(60)
	disputes := []gatetest.Dispute{g.Dispute(), g.Dispute(), g.Dispute()}
	for _, d := range disputes {
		events = append(events, d.Events...)
	}
	o = oracle.Judge(o, events)
	for round := range rounds {
		reader := g.Reader()
		filter := g.Filter(reader, events)
		if round%8 == 0 {
			d := disputes[g.Rand.IntN(len(disputes))]
			if reader = []string{d.Decider}; d.Arbitrator != "" && g.Rand.IntN(2) == 0 {
				reader = []string{d.Arbitrator}
			}
			filter = nostr.Filter{Kinds: []int{30090, 30091}[g.Rand.IntN(2):], Tags: nostr.TagMap{"d": {d.Contract}}}
		}
		if err := compare(table, o, reader, filter, events, casesOf(disputes, reader), total); err != nil {
			text, _ := json.Marshal(filter)
			t.Fatalf("seed %d, options %+v, reader %v, filter %s: %v", seed, o, reader, text, err)
		}
	}
}

// replicaOfAll is replaced by a key of the generator.
const replicaOfAll = "0000000000000000000000000000000000000000000000000000000000000000"

// withReplica puts the generator's first key on the list, if there is one.
func withReplica(g *gatetest.Gen, o oracle.Options) oracle.Options {
	if len(o.Replicas) > 0 {
		o.Replicas = []string{g.Keys[0].Pub}
	}
	return o
}

// casesOf returns the cases of a reader, as callers of the gate look them up.
func casesOf(disputes []gatetest.Dispute, reader []string) (cases []gate.Case) {
	for _, d := range disputes {
		if d.Arbitrator != "" && slices.Contains(reader, d.Arbitrator) {
			cases = append(cases, gate.Case{Contract: d.Contract, Poster: d.Poster, Worker: d.Worker, Agreed: []string{d.Arbitrator, d.Decider}})
		}
	}
	return cases
}

func compare(table *gate.Table, o oracle.Options, reader []string, f nostr.Filter, events []*nostr.Event, cases []gate.Case, total *tally) error {
	scope, err := table.ScopeFor(gate.NewReader(reader...), f, cases...)
	want := oracle.Refused(o, reader, f)
	if err != nil || want != "" {
		total.refused++
		var refusal *gate.Refusal
		if !errors.As(err, &refusal) || refusal.Prefix != want {
			return fmt.Errorf("ScopeFor: %v, want refusal %q", err, want)
		}
		return nil
	}
	for _, ev := range events {
		if !oracle.Matches(f, ev) {
			continue
		}
		class := table.Classify(ev)
		if ev.Kind == nostr.KindDeletion {
			class = table.ClassifyDeletion(ev, o.Found[ev.ID])
		}
		subject := gate.SubjectOf(class, ev)
		visible := oracle.Visible(o, reader, f, ev)
		if got := scope.CanRead(subject); got != visible {
			return fmt.Errorf("CanRead(%+v) = %v, want %v; event %v", subject, got, visible, ev)
		}
		if got := admits(scope, subject); got != visible {
			return fmt.Errorf("clauses %+v admit %+v: %v, want %v; event %v", scope.Clauses(), subject, got, visible, ev)
		}
		if open := class == gate.Open; open != !oracle.Gated(withoutPublic(o), ev) {
			return fmt.Errorf("class %v; event %v", class, ev)
		}
		if strict := table.Classify(ev); strict != class && ev.Kind != nostr.KindDeletion {
			return fmt.Errorf("Classify = %v; event %v", strict, ev)
		}
		switch party := gate.Party(table, gate.NewReader(reader...)).CanRead(subject); {
		case !visible:
			total.hidden++
			if party {
				return fmt.Errorf("Party sees %+v, which the filter does not show", subject)
			}
		case subject.Class != gate.Open:
			total.shown++
			decides := oracle.Decides(o, reader, ev)
			strict, me := table.PartiesOnly(), gate.NewReader(reader...)
			if want := decides || gate.Party(strict, me).CanRead(subject); gate.Party(strict, me, cases...).CanRead(subject) != want {
				return fmt.Errorf("as party or arbitrator he should see %+v: %v", subject, want)
			}
			if !party && slices.Contains(f.IDs, ev.ID) {
				total.byID++
			} else if !party && decides {
				total.byCase++
			} else if !party {
				total.byD++
			}
		}
	}
	return nil
}

// withoutPublic drops the one option that opens a class to all: the class
// itself must not depend on it.
func withoutPublic(o oracle.Options) oracle.Options {
	o.Contracts = ""
	return o
}

// admits evaluates the clauses as the store does.
func admits(s gate.Scope, e gate.Subject) bool {
	if e.Class == gate.Open || s.All() {
		return true
	}
	for _, c := range s.Clauses() {
		if !slices.Contains(c.Classes, e.Class) {
			continue
		}
		tagged := slices.ContainsFunc(e.P, func(pk string) bool { return slices.Contains(c.Keys, pk) })
		if c.Everyone || (c.ByAuthor && slices.Contains(c.Keys, e.Author)) || (c.ByTag && tagged) ||
			slices.Contains(c.IDs, e.ID) || slices.Contains(c.Ds, e.D) || slices.ContainsFunc(c.Cases, func(k gate.Case) bool { return partOf(k, e) }) {
			return true
		}
	}
	return false
}

// partOf evaluates a case as the store does.
func partOf(c gate.Case, e gate.Subject) bool {
	keys := append([]string{c.Poster, c.Worker}, c.Agreed...)
	for _, key := range append([]string{e.Author}, e.P...) {
		if !slices.Contains(keys, key) {
			return false
		}
	}
	return c.Contract == e.D
}

// TestUnderAgainstOracle carries scopes over to other options, as a reload
// does: a subscription must never show what the second check would hide from
// the same filter if it were sent now.
func TestUnderAgainstOracle(t *testing.T) {
	options := everyOptions()
	for i, before := range options {
		after := options[(i*7+5)%len(options)] // no events were looked up here: the verdicts are those of a bare Classify
		seed := uint64(5000 + i)
		g := gatetest.New(seed, 5)
		before, after := withReplica(g, before), withReplica(g, after)
		old, now := mustTable(t, before), mustTable(t, after)
		g.Unsigned = true
		events := g.Events(60)
		for range 40 {
			reader := g.Reader()
			filter := g.Filter(reader, events)
			scope, err := old.ScopeFor(gate.NewReader(reader...), filter)
			if err != nil {
				continue
			}
			for _, ev := range events {
				if !oracle.Matches(filter, ev) {
					continue
				}
				subject := now.Subject(ev)
				got, byClauses := scope.Under(now).CanRead(subject), admits(scope.Under(now), subject)
				want := oracle.May(after, reader, filter, ev)
				if after.AuthRequired && len(reader) == 0 {
					byClauses = false // clauses only add gated events to the open ones
				}
				if (got && !want) || got != byClauses {
					t.Fatalf("seed %d, %+v then %+v, reader %v, filter %v: sees %v, by clauses %v, want %v; event %v",
						seed, before, after, reader, filter, got, byClauses, want, ev)
				}
				if !got && want && wasGated(before, filter) {
					t.Fatalf("seed %d, %+v then %+v, reader %v, filter %v: lost the event %v",
						seed, before, after, reader, filter, ev)
				}
			}
		}
	}
}

// wasGated reports whether the filter named a gated kind, or none, under the
// old options.
func wasGated(o oracle.Options, f nostr.Filter) bool {
	if f.Kinds == nil {
		return true
	}
	return slices.ContainsFunc(f.Kinds, func(kind int) bool {
		return oracle.Refused(withoutPublic(o), nil, nostr.Filter{Kinds: []int{kind}}) != ""
	})
}
