package nipae

import (
	"github.com/nbd-wtf/go-nostr"
)

// ConfiguredRelays returns where a pair's memory is (NIP-AE, "Configured
// relays"): the entries of the agent's relay list (NIP-65) that are marked
// write or not marked; or, if there is no such list or it has no usable entry,
// those of given, the list agreed on otherwise, and listed is false.
//
// candidates are what relays returned for kind 10002 by the agent, in any
// order; the newest that the agent did sign counts. Only valid ws and wss URLs
// are returned, each relay once (see CanonicalRelayURL), in order, and as they
// were written, because that is how to connect to them.
func ConfiguredRelays(agent string, candidates []*nostr.Event, given []string) (relays []string, listed bool) {
	for _, ev := range distinct(candidates) {
		if ev.Kind != nostr.KindRelayListMetadata || ev.PubKey != agent || verify(ev) != nil {
			continue
		}
		if relays := DistinctRelays(writeEntries(ev)); len(relays) > 0 {
			return relays, true
		}
		break
	}
	return DistinctRelays(given), false
}

// writeEntries returns the URLs of a relay list that are for writing too.
func writeEntries(ev *nostr.Event) (urls []string) {
	for _, tag := range ev.Tags {
		if len(tag) < 2 || tag[0] != "r" {
			continue
		}
		if marker := tag[2:]; len(marker) == 0 || marker[0] == "" || marker[0] == "write" {
			urls = append(urls, tag[1])
		}
	}
	return urls
}

// DistinctRelays returns the URLs that are valid, each relay once, the first
// way it was written, in order.
func DistinctRelays(urls []string) (relays []string) {
	seen := make(map[string]bool, len(urls))
	for _, url := range urls {
		canonical, err := CanonicalRelayURL(url)
		if err != nil || seen[canonical] {
			continue
		}
		seen[canonical] = true
		relays = append(relays, url)
	}
	return relays
}
