package policy

import (
	"context"
	"slices"
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/kind"
)

// Attestation is an owner's word for a key (NIP-OA) that came beside events of
// this key and not on them: in its AUTH, or in a header of the request that
// delivers one. It counts as an auth tag on the event would, and is neither
// stored nor logged; what it says is remembered as of one on an event. It may be one that does not count; then its sender is told
// why when it would have been needed.
type Attestation struct {
	attestation
	fault error
	once  sync.Once // for good
	good  bool
}

// NewAttestation reads a NIP-OA auth tag, ["auth", owner, conditions, sig],
// that is to attest agent. Its conditions have at most 256 bytes, since it is
// kept for as long as a connection. The signature is checked when it is first
// needed.
func NewAttestation(agent string, tag nostr.Tag) *Attestation {
	a, fault := attestationOf(agent, tag)
	if fault == nil && len(a.conditions) > maxKeptConditions {
		a, fault = attestation{}, unattested("its conditions have more than 256 bytes")
	}
	a.agent = agent // also of one that does not count
	return &Attestation{attestation: a.clone(), fault: fault}
}

// Replaces reports whether a says again, or anew, what b says: for the same
// key, by the same owner.
func (a *Attestation) Replaces(b *Attestation) bool {
	return a.agent == b.agent && a.owner == b.owner
}

// vouches returns nil if a counts for ev, by one of the owners.
func (a *Attestation) vouches(ev *nostr.Event, owners []string) error {
	if a.fault != nil {
		return a.fault
	}
	if !slices.Contains(owners, a.owner) {
		return otherOwner
	}
	if err := a.conditionsHold(ev); err != nil {
		return err
	}
	a.once.Do(func() { a.good = a.verify() == nil })
	if !a.good {
		return notTheOwners
	}
	return nil
}

const otherOwner unattested = "it is by another key than the owner who must vouch"

// faultFor returns why a does not count for ev, whoever the owner is.
func (a *Attestation) faultFor(ev *nostr.Event) error { return a.vouches(ev, []string{a.owner}) }

// AllRelays is what a request to vanish names when it is for every relay.
const AllRelays = "ALL_RELAYS"

// maxVanishSize bounds content and tags, in bytes, of a request to vanish by
// somebody who may not write here: a reason, and the relays it goes to.
const maxVanishSize = 4096

// rejectMisaddressedVanish rejects requests to vanish that are for other
// relays: they count only if a relay tag names this one or all.
func (p *Policy) rejectMisaddressedVanish(_ context.Context, ev *nostr.Event) (bool, string) {
	if ev.Kind != kind.Vanish {
		return false, ""
	}
	for _, tag := range ev.Tags {
		if len(tag) < 2 || tag[0] != "relay" {
			continue
		}
		if tag[1] == AllRelays || p.OwnName(tag[1]) {
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
