package relay

import (
	"context"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/policy"
)

// AttestationHeader holds, in a request that delivers an event, the attestation
// of its author by an owner: the JSON of a NIP-OA auth tag.
const AttestationHeader = "X-Auth-Tag"

// Bounds of attestations that come beside events. Those of one connection are
// kept as long as it, and beyond their number the oldest is forgotten.
const (
	maxAttestationHeader = 2 << 10
	maxAttestations      = 16
)

// Attestations are owners' words for keys (NIP-OA) that came beside events.
// They are never stored. The zero value has none; values do not change.
type Attestations struct{ list []*policy.Attestation }

// WithAuth adds the attestation that an AUTH event carries, if there is one: it
// counts for the events of the key that the AUTH proved. A later one by the
// same owner for the same key takes its place.
func (a Attestations) WithAuth(auth *nostr.Event) Attestations {
	tag := policy.AuthTag(auth)
	if tag == nil {
		return a
	}
	added := policy.NewAttestation(auth.PubKey, tag)
	list := slices.Clone(a.list)
	list = slices.DeleteFunc(list, added.Replaces)
	list = append(list, added)
	return Attestations{list[max(0, len(list)-maxAttestations):]}
}

// AttestationIn reads the values of AttestationHeader for an event by author.
// What cannot be one counts for nothing, and the policy says so if one was
// needed.
func AttestationIn(header []string, author string) Attestations {
	if len(header) == 0 {
		return Attestations{}
	}
	var tag nostr.Tag
	if len(header) == 1 && len(header[0]) <= maxAttestationHeader {
		tag, _ = wire.ParseTag([]byte(header[0])) // nil is no attestation
	}
	return Attestations{[]*policy.Attestation{policy.NewAttestation(author, tag)}}
}

// WithAttestations returns a context that carries what came beside the events
// that are submitted in it.
func WithAttestations(ctx context.Context, a Attestations) context.Context {
	if len(a.list) == 0 {
		return ctx
	}
	return context.WithValue(ctx, attestationsKey, a)
}

// AttestationsFrom is for policy.Options.Attested.
func AttestationsFrom(ctx context.Context) []*policy.Attestation {
	a, _ := ctx.Value(attestationsKey).(Attestations)
	return a.list
}
