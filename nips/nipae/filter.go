package nipae

import "github.com/nbd-wtf/go-nostr"

// HeadFilter returns what to ask every configured relay for one slug (NIP-AE,
// "Head selection"): the answers, united, are the candidates of SelectHead.
func HeadFilter(k ConversationKey, agent, owner string, s Slug) nostr.Filter {
	f := ListFilter(agent, owner)
	f.Tags["d"] = []string{AddressIn(k, agent, owner, s)}
	return f
}

// ListFilter returns what to ask every configured relay for a pair's whole
// memory (NIP-AE, "Listing"): the answers, united, are the candidates of
// SelectHeads. Relays cap their answers: page with Until until one is empty.
func ListFilter(agent, owner string) nostr.Filter {
	return nostr.Filter{
		Kinds:   []int{Kind},
		Authors: []string{agent},
		Tags:    nostr.TagMap{"p": []string{owner}},
	}
}
