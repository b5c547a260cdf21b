package query_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// never wakes the writer for what it does besides: where the log is written back, the
// next read of the index looks up what it had remembered.
func never(time.Duration) <-chan time.Time { return nil }

// TestSearchTakesTheSameWhateverOthersEntriesHold counts the steps of searches
// for a word of which others' entries are full, and for one that stands
// nowhere.
func TestSearchTakesTheSameWhateverOthersEntriesHold(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	for _, mode := range []string{"by id", "parties"} {
		t.Run(mode, func(t *testing.T) {
			options := gate.Options{Wildcard: gate.WildcardExclude}
			if mode == "parties" {
				options.Contracts = gate.ContractsParties
			}
			table := storetest.MustTable(t, options)
			s := storetest.MustSearch(t, func(o *sqlite.Options) { o.Table, o.After = table, never })
			dave := storetest.NewKey("dave")
			for i := range 3 {
				storetest.EntryWith(t, s, alice, bob, fmt.Sprint("c", i), "our own words")
			}
			for i := range 60 {
				storetest.EntryWith(t, s, carol, dave, fmt.Sprint("other", i), "secret secret words")
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
