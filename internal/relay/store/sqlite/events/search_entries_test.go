package events_test

import (
	"encoding/json"
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

// entryWith is an entry with any text, in a contract that is open.
func entryWith(t *testing.T, s *sqlite.Store, from, to storetest.Key, contract, text string) {
	t.Helper()
	content, err := json.Marshal(map[string]string{"type": "message", "content": text})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, from.State(to, 0, contract, "", "open"), store.Stored)
	put(t, s, from.Fake(30090, 1, string(content), nostr.Tag{"d", contract}, nostr.Tag{"p", to.Pub}, nostr.Tag{"t", "message"}), store.Stored)
}

// TestSearchTakesTheSameWhateverOthersEntriesHold counts the steps of searches
// for a word of which others' entries are full, and for one that stands
// nowhere.
func TestSearchTakesTheSameWhateverOthersEntriesHold(t *testing.T) {
	if raceEnabled {
		t.Skip("one goroutine asks much")
	}
	for _, mode := range []string{"by id", "parties"} {
		t.Run(mode, func(t *testing.T) {
			options := gate.Options{Wildcard: gate.WildcardExclude}
			if mode == "parties" {
				options.Contracts = gate.ContractsParties
			}
			table := storetest.MustTable(t, options)
			s := mustSearch(t, func(o *sqlite.Options) { o.Table = table })
			dave := storetest.NewKey("dave")
			for i := range 3 {
				entryWith(t, s, alice, bob, fmt.Sprint("c", i), "our own words")
			}
			for i := range 60 {
				entryWith(t, s, carol, dave, fmt.Sprint("other", i), "secret secret words")
			}
			put(t, s, alice.Note(0, "a note in other words"), store.Stored)
			filters := map[string]nostr.Filter{
				"a contract that is none": {Kinds: []int{30090}, Tags: nostr.TagMap{"d": {"nope"}}},
				"a contract":              {Kinds: []int{30090}, Tags: nostr.TagMap{"d": {"c1", "c2"}}},
				"contracts":               {Kinds: []int{30090, 1}, Tags: nostr.TagMap{"d": strings.Split(strings.Repeat("c1 x y z ", 10)+"w", " ")}},
				"everything":              {},
				"own":                     {Kinds: []int{30090}, Authors: []string{alice.Pub}},
				"addressed":               {Kinds: []int{30090}, Tags: nostr.TagMap{"p": {bob.Pub}}},
				"by type":                 {Kinds: []int{30090}, Authors: []string{alice.Pub}, Tags: nostr.TagMap{"t": {"note", "decision"}}},
				"ids":                     {IDs: []string{strings.Repeat("0", 64)}},
			}
			asked := 0
			for name, f := range filters {
				for who, reader := range map[string]gate.Reader{
					"nobody": gate.NewReader(), "a party": gate.NewReader(alice.Pub), "both": gate.NewReader(alice.Pub, bob.Pub),
				} {
					if _, err := table.ScopeFor(reader, f); err != nil {
						continue
					}
					asked++
					steps := func(search string, count bool) float64 {
						f.Search = search
						work(t, s, table, reader, f, count) // the first time statements are compiled
						return work(t, s, table, reader, f, count)
					}
					for _, count := range []bool{false, true} {
						for theirs, nobodys := range map[string]string{"secret": "absent", `"secret words"`: `"absent words"`} {
							if a, b := steps(theirs, count), steps(nobodys, count); a != b {
								t.Errorf("%s of %s, count %v: %.0f steps for %s, which others have, %.0f for %s", name, who, count, a, theirs, b, nobodys)
							}
						}
					}
				}
			}
			if asked < 10 {
				t.Errorf("only %d requests are let in", asked)
			}
		})
	}
}

// TestSearchFindsTheSameEitherWay: what a party finds in his entries is what
// the operator finds by the index.
func TestSearchFindsTheSameEitherWay(t *testing.T) {
	if testing.Short() || raceEnabled {
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
