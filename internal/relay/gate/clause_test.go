package gate_test

import (
	"reflect"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/oracle"
)

func TestClauses(t *testing.T) {
	keys := []string{agent}
	classes := func(c ...gate.Class) []gate.Class { return c }
	party := gate.Clause{ByAuthor: true, ByTag: true, Keys: keys}
	of := func(c gate.Clause, classes ...gate.Class) gate.Clause {
		c.Classes = classes
		return c
	}
	ruledClasses := []gate.Class{16 | 1}
	for _, c := range []struct {
		name    string
		options oracle.Options
		reader  []string
		filter  nostr.Filter
		want    []gate.Clause
	}{
		{"open kinds", none, keys, kinds(1, 7), nil},
		{"no kinds at all", none, keys, with(nostr.Filter{Kinds: []int{}}, "ids", someID), nil},
		{"engrams of mine", none, keys, with(kinds(30174, 1), "authors", agent), []gate.Clause{of(party, gate.Engram)}},
		{"deletion requests, nobody", none, nil, kinds(5), nil},
		{"deletion requests", none, keys, kinds(5),
			[]gate.Clause{{Classes: classes(gate.Deletion, gate.Ruled), ByAuthor: true, Keys: keys}}},
		{"wraps", none, keys, with(with(kinds(1059), "p", agent), "ids", someID),
			[]gate.Clause{{Classes: classes(gate.Wrap), ByTag: true, Keys: keys}}},
		{"a contract, nobody", none, nil, with(kinds(30090, 30091), "d", contractID),
			[]gate.Clause{{Classes: classes(gate.Contract), Ds: []string{contractID}}}},
		{"a contract", none, keys, with(kinds(30090), "d", contractID), []gate.Clause{
			{Classes: classes(gate.Contract), ByAuthor: true, ByTag: true, Keys: keys, Ds: []string{contractID}},
			of(party, gate.Sealed)}},
		{"public contracts", public, keys, kinds(30090), []gate.Clause{
			{Classes: classes(gate.Contract), Everyone: true}, of(party, gate.Sealed)}},
		{"everything, nobody", exclude, nil, nostr.Filter{}, nil},
		{"ids, nobody", none, nil, with(nostr.Filter{}, "ids", someID, otherID, someID), []gate.Clause{
			{Classes: append(classes(gate.Engram, gate.Contract, gate.Sealed), idClasses()...), IDs: []string{someID, otherID}}}},
		{"a ruled kind", ruled, keys, with(kinds(30078), "authors", agent), []gate.Clause{
			{Classes: append(classes(gate.Approval), ruledClasses...), ByAuthor: true, Keys: keys}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			scope, err := mustTable(t, c.options).ScopeFor(gate.NewReader(c.reader...), c.filter)
			if err != nil {
				t.Fatal(err)
			}
			got := scope.Clauses()
			if len(got) == 0 && len(c.want) == 0 {
				return
			}
			if !reflect.DeepEqual(plainLists(got), c.want) {
				t.Errorf("clauses\n got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// idClasses are the numbers of rules in which an id opens an event: an earlier
// configuration may have stored them.
func idClasses() []gate.Class {
	var out []gate.Class
	for c := gate.Class(16); c < 32; c++ {
		if c&4 != 0 {
			out = append(out, c)
		}
	}
	return out
}

// plainLists gives the lists the type of literals.
func plainLists(clauses []gate.Clause) []gate.Clause {
	for i := range clauses {
		c := &clauses[i]
		c.Keys, c.IDs, c.Ds = []string(c.Keys), []string(c.IDs), []string(c.Ds)
	}
	return clauses
}
