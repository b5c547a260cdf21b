package gate_test

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
)

func TestByContractAlone(t *testing.T) {
	me, other := strings.Repeat("1", 64), strings.Repeat("2", 64)
	d := func(more nostr.TagMap) nostr.TagMap {
		tags := nostr.TagMap{"d": {"job"}}
		for k, v := range more {
			tags[k] = v
		}
		return tags
	}
	for _, tt := range []struct {
		name   string
		filter nostr.Filter
		want   bool
	}{
		{"entries", nostr.Filter{Kinds: []int{30090}, Tags: d(nil)}, true},
		{"states among others", nostr.Filter{Kinds: []int{1, 30091}, Tags: d(nil)}, true},
		{"of another author", nostr.Filter{Kinds: []int{30090}, Tags: d(nil), Authors: []string{other}}, true},
		{"of oneself and another", nostr.Filter{Kinds: []int{30090}, Tags: d(nil), Authors: []string{me, other}}, true},
		{"one's own", nostr.Filter{Kinds: []int{30090}, Tags: d(nil), Authors: []string{me}}, false},
		{"to oneself", nostr.Filter{Kinds: []int{30090}, Tags: d(nostr.TagMap{"p": {me}})}, false},
		{"by id", nostr.Filter{Kinds: []int{30090}, Tags: d(nil), IDs: []string{other}}, false},
		{"engrams", nostr.Filter{Kinds: []int{30174}, Tags: d(nil)}, false},
		{"no kinds", nostr.Filter{Tags: d(nil)}, false},
		{"no contract", nostr.Filter{Kinds: []int{30090}, Authors: []string{me}}, false},
	} {
		for contracts, open := range map[string]bool{"contract": true, "public": false, "parties": false} {
			table, err := gate.NewTable(gate.Options{Contracts: contracts})
			if err != nil {
				t.Fatal(err)
			}
			if got := table.ByContractAlone(gate.NewReader(me), tt.filter); got != (tt.want && open) {
				t.Errorf("%s, %s: %v", tt.name, contracts, got)
			}
		}
	}
}
