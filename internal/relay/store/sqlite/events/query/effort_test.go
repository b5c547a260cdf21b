package query_test

import (
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/events/query"
	"engramd/internal/relay/store/sqlite/storetest"
)

// Look-ups are what finds few rows and passes few over, and what a reader has
// of his own; anything that may go through others' events is none, however
// small its answer.
func TestEfforts(t *testing.T) {
	table := storetest.MustTable(t, gate.Options{Wildcard: gate.WildcardExclude})
	many := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("%064x", i))
		}
		return out
	}
	me, kinds := gate.NewReader(alice.Pub, bob.Pub), []int{30174}
	for _, c := range []struct {
		name        string
		filter      nostr.Filter
		rows        int
		page, count string
	}{
		{"ids", nostr.Filter{IDs: many(20)}, 0, "look_up", "scan"},
		{"many ids", nostr.Filter{IDs: many(200)}, 0, "scan", "scan"},
		{"ids and a long list", nostr.Filter{IDs: many(2), Tags: nostr.TagMap{"t": many(300)}}, 0, "scan", "scan"},
		{"own head", nostr.Filter{Kinds: kinds, Authors: []string{alice.Pub}, Tags: nostr.TagMap{"d": many(1), "p": {bob.Pub}}}, 0, "look_up", "look_up"},
		{"own heads", nostr.Filter{Kinds: kinds, Authors: []string{alice.Pub}, Tags: nostr.TagMap{"d": many(30)}}, 0, "look_up", "look_up"},
		{"many heads", nostr.Filter{Kinds: kinds, Authors: []string{alice.Pub}, Tags: nostr.TagMap{"d": many(100)}}, 0, "scan", "look_up"},
		{"own list", nostr.Filter{Kinds: kinds, Authors: []string{alice.Pub}, Tags: nostr.TagMap{"p": {bob.Pub}}}, 0, "look_up", "look_up"},
		{"addressed to oneself", nostr.Filter{Kinds: kinds, Tags: nostr.TagMap{"p": {bob.Pub}}}, 0, "scan", "look_up"},
		{"own and another's", nostr.Filter{Kinds: []int{1}, Authors: []string{alice.Pub, carol.Pub}}, 0, "scan", "scan"},
		{"another's profile", nostr.Filter{Kinds: []int{0}, Authors: []string{carol.Pub}}, 2, "look_up", "scan"},
		{"another's notes", nostr.Filter{Kinds: []int{1}, Authors: []string{carol.Pub}}, 0, "scan", "scan"},
		{"another's notes on a topic", nostr.Filter{Kinds: []int{1}, Authors: []string{carol.Pub}, Tags: nostr.TagMap{"t": {"x"}}}, 2, "scan", "scan"},
		{"own of any kind", nostr.Filter{Authors: []string{alice.Pub}}, 0, "scan", "look_up"},
		{"own with a search", nostr.Filter{Authors: []string{alice.Pub}, Search: "x"}, 0, "scan", "scan"},
		{"a topic", nostr.Filter{Tags: nostr.TagMap{"t": {"x"}}}, 1, "scan", "scan"},
		{"a kind", nostr.Filter{Kinds: []int{1}}, 1, "scan", "scan"},
		{"everything", nostr.Filter{}, 1, "scan", "scan"},
	} {
		scope, err := table.ScopeFor(me, c.filter)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		ask := store.Ask{Scope: scope, Filter: c.filter, MaxRows: c.rows}
		for count, want := range map[bool]string{false: c.page, true: c.count} {
			if got, err := query.EffortOf(ask, count); err != nil || got != want {
				t.Errorf("%s, count %v: %s (%v), want %s", c.name, count, got, err, want)
			}
		}
	}
}
