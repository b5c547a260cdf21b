package transfer

import (
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/kind"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// memoryKinds are the kinds that a pair of keys shares.
var memoryKinds = []int{nipae.Kind, niptemp.KindState, niptemp.KindEntry}

// contractKinds are those of them that two parties write.
var contractKinds = []int{niptemp.KindState, niptemp.KindEntry}

// EverythingOf is what belongs to a key: what it signed of memory, contracts,
// deletions, requests to vanish and its list of relays, and what names it. since
// leaves out what is older; 0 nothing. Contracts have filters of their own: not
// every relay may be told their ids.
func EverythingOf(pubkey string, since int64) []nostr.Filter {
	return bounded(since,
		nostr.Filter{Kinds: []int{nipae.Kind, nostr.KindDeletion, kind.Vanish, nostr.KindRelayListMetadata}, Authors: []string{pubkey}},
		nostr.Filter{Kinds: []int{nipae.Kind}, Tags: nostr.TagMap{"p": {pubkey}}},
		nostr.Filter{Kinds: slices.Clone(contractKinds), Authors: []string{pubkey}},
		nostr.Filter{Kinds: slices.Clone(contractKinds), Tags: nostr.TagMap{"p": {pubkey}}})
}

// MemoryOf is the memory of one agent that its owner may see, and its list of
// relays.
func MemoryOf(agent, owner string, since int64) []nostr.Filter {
	return bounded(since,
		nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{agent}, Tags: nostr.TagMap{"p": {owner}}},
		nostr.Filter{Kinds: []int{nostr.KindRelayListMetadata}, Authors: []string{agent}})
}

func bounded(since int64, filters ...nostr.Filter) []nostr.Filter {
	for i := range filters {
		if since > 0 {
			filters[i].Since = new(nostr.Timestamp(since))
		}
	}
	return filters
}
