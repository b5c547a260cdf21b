package policy

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/kind"
	"engramd/nips/nipae"
)

// AllRelays is what a request to vanish names when it is for every relay.
const AllRelays = "ALL_RELAYS"

// maxVanishSize bounds content and tags, in bytes, of a request to vanish by
// somebody who may not write here: a reason, and the relays it goes to.
const maxVanishSize = 4096

// rejectMisaddressedVanish rejects requests to vanish that are for other
// relays: they count only if a relay tag names this one, compared canonically,
// or all.
func (p *Policy) rejectMisaddressedVanish(_ context.Context, ev *nostr.Event) (bool, string) {
	if ev.Kind != kind.Vanish {
		return false, ""
	}
	for _, tag := range ev.Tags {
		if len(tag) < 2 || tag[0] != "relay" {
			continue
		}
		if tag[1] == AllRelays {
			return false, ""
		}
		if name, err := nipae.CanonicalRelayURL(tag[1]); err == nil && has(p.names, name) {
			return false, ""
		}
	}
	return true, NotAddressed
}

// NotAddressed refuses a request to vanish that names other relays.
const NotAddressed = "invalid: not addressed to this relay"

// rightToVanish reports whether ev is a request to vanish that everybody may
// make. The relay has checked before whom it is addressed to.
func rightToVanish(ev *nostr.Event) bool {
	if ev.Kind != kind.Vanish {
		return false
	}
	size := len(ev.Content)
	for _, tag := range ev.Tags {
		for _, item := range tag {
			size += len(item)
		}
	}
	return size <= maxVanishSize
}
