package policy

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/kind"
)

func vanish(author string, relays ...string) *nostr.Event {
	ev := withKind(kind.Vanish, note(author))
	for _, r := range relays {
		ev.Tags = append(ev.Tags, nostr.Tag{"relay", r})
	}
	return ev
}

func TestVanishAddress(t *testing.T) {
	p := mustPolicy(t, Options{OwnName: func(url string) bool { return url == "wss://relay.example" }})
	for _, relay := range []string{"ALL_RELAYS", "wss://relay.example"} {
		check(t, p, vanish(agentKey, relay), "")
		check(t, p, vanish(agentKey, "wss://other.example", "nonsense", relay), "")
	}
	const refused = "invalid: not addressed to this relay"
	for _, relay := range []string{"all_relays", "wss://other.example", ""} {
		check(t, p, vanish(agentKey, relay), refused)
	}
	check(t, p, vanish(agentKey), refused)
	check(t, p, withKind(kind.Vanish, note(agentKey, nostr.Tag{"relay"})), refused)
	check(t, p, withKind(kind.Vanish, note(agentKey, nostr.Tag{"r", "ALL_RELAYS"})), refused)
	check(t, mustPolicy(t, Options{}), vanish(agentKey, ""), refused)
}

// NIP-62: relays that restrict who may post follow the request all the same.
func TestVanishIsForEverybody(t *testing.T) {
	for name, o := range map[string]Options{
		"banned author": {BannedAuthors: []string{agentKey}},
		"banned kind":   {BannedKinds: []int{kind.Vanish}},
		"other kinds":   {Kinds: []int{1}},
		"other authors": {Authors: []string{ownerKey}},
		"other owners":  {Owners: []string{ownerKey}},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustPolicy(t, o)
			check(t, p, vanish(agentKey, "ALL_RELAYS"), "")
			long := vanish(agentKey, "ALL_RELAYS")
			long.Content = strings.Repeat("x", maxVanishSize)
			if rejected, _ := p.RejectEvent(t.Context(), long); !rejected {
				t.Error("who may not write stores 4 KiB by it")
			}
		})
	}
	long := vanish(agentKey, "ALL_RELAYS")
	long.Content = strings.Repeat("x", 100_000)
	check(t, mustPolicy(t, Options{Authors: []string{agentKey}}), long, "")
}
