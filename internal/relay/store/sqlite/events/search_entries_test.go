package events_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestSearchFindsTheSameEitherWay: what a party finds in his entries is what
// the operator finds by the index.
func TestSearchFindsTheSameEitherWay(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	table := storetest.MustTable(t, gate.Options{Wildcard: gate.WildcardExclude})
	s := mustSearch(t, func(o *sqlite.Options) { o.Table = table })
	var words, contracts []string
	for i, text := range []string{
		"the quick brown fox", "a Brown quick dog", "Ünïcode wörds älso", "https://example.com/a?b=c", "don't NEAR panic",
		"日本語 テスト", "rust-lang C++ AND OR NOT", "100% of 3.14", "ΑΒΓ ﬁne ǅ straße İ", "e\u0301te\u0301 \U00010400 a\u200db",
	} {
		contracts = append(contracts, fmt.Sprint("c", i))
		entryWith(t, s, alice, bob, contracts[i], text)
		words = append(append(words, strings.Fields(text)...), text, `"`+text+`"`)
	}
	for i := range 130 { // more than are matched at a time
		contracts = append(contracts, fmt.Sprint("n", i))
		entryWith(t, s, bob, alice, fmt.Sprint("n", i), fmt.Sprint("brown entry number ", i))
	}
	words = append(words, "brown", "brown entry", "number 7", `"entry number 119"`, "ETE", "strasse", "fine", "nothing")
	for _, word := range words {
		for _, f := range []nostr.Filter{
			{Kinds: []int{30090}, Tags: nostr.TagMap{"d": contracts}}, {Kinds: []int{30090}, Authors: []string{alice.Pub}},
			{Kinds: []int{30090}, Tags: nostr.TagMap{"p": {alice.Pub}, "d": contracts[5:]}}, {Authors: []string{bob.Pub}},
		} {
			f.Search = word
			scope, err := table.ScopeFor(gate.NewReader(alice.Pub, bob.Pub), f)
			if err != nil {
				t.Fatal(err)
			}
			ask := store.Ask{Scope: scope, Filter: f}
			got, _ := search(t, s, ask)
			ask.Scope = gate.Operator()
			want, _ := search(t, s, ask)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d hits, %d by the index", f, len(got), len(want))
			}
			if n, err := s.Count(t.Context(), []store.Ask{{Scope: scope, Filter: f}}); err != nil || int(n) != len(want) {
				t.Errorf("count of %s: %d (%v), want %d", f, n, err, len(want))
			}
		}
	}
}
