package relay

import (
	"context"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// Authenticate checks a NIP-42 AUTH event against the connection's challenge
// and the relay's own names and returns the pubkey it proves. The error names
// the failed check; it is a *nip01.Refusal and holds nothing secret.
func (r *Relay) Authenticate(ev *nostr.Event, challenge string) (string, error) {
	if ev.Kind != nostr.KindClientAuthentication {
		return "", nip01.Refuse(nip01.PrefixInvalid, "auth event has kind %d, not %d", ev.Kind, nostr.KindClientAuthentication)
	}
	if err := wire.Verify(ev); err != nil {
		return "", nip01.Refuse(nip01.PrefixInvalid, "auth event: %v", err)
	}
	got, err := onlyTag(ev, "challenge")
	if err != nil {
		return "", err
	}
	if got != challenge {
		return "", nip01.Refuse(nip01.PrefixInvalid, "auth event answers another challenge")
	}
	name, err := onlyTag(ev, "relay")
	if err != nil {
		return "", err
	}
	if !r.cfg.Names.Has(name) {
		return "", nip01.Refuse(nip01.PrefixInvalid, "auth event is for another relay, not %s", r.cfg.Names[0])
	}
	off := r.cfg.Clock().Sub(ev.CreatedAt.Time())
	if off.Abs() > r.cfg.AuthWindow {
		return "", nip01.Refuse(nip01.PrefixInvalid, "auth event is %s off this relay's clock, at most %s is taken",
			off.Abs().Truncate(time.Second), r.cfg.AuthWindow)
	}
	return ev.PubKey, nil
}

// onlyTag returns the value of the one tag with this name. Two of them would
// let a signature for another relay count for ours as well.
func onlyTag(ev *nostr.Event, name string) (string, error) {
	value, count := "", 0
	for _, tag := range ev.Tags {
		if len(tag) > 0 && tag[0] == name {
			count++
			if len(tag) > 1 {
				value = tag[1]
			}
		}
	}
	if count != 1 || value == "" {
		return "", nip01.Refuse(nip01.PrefixInvalid, "auth event needs exactly one %s tag", name)
	}
	return value, nil
}

// AttestationHeader holds, in a request that delivers an event, the attestation
// of its author by an owner: the JSON of a NIP-OA auth tag.
const AttestationHeader = "X-Auth-Tag"

// SessionHeader holds, in an answer to a proved key, what names all that the answer may
// rest on, and in a request of the same key what has to be there before it is answered.
const SessionHeader = "Engramd-Session"

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

// errGuessed refuses to look for contracts by ids of which too many have shown
// nothing. The same words answer whether or not there is something.
var errGuessed = &nip01.Refusal{Prefix: nip01.PrefixRateLimited, Text: store.GuessedText}

// guessing counts, to the share that asks, the contract ids of a request that
// are its only key and show nothing. When its guesses are used up, only ids in
// which the reader has a part are answered, and no other is looked at.
func guessing(ctx context.Context, r *Relay, reader gate.Reader, granted []Granted) error {
	who := fairness.From(ctx)
	if !r.cfg.Guesses.Counts(who) {
		return nil
	}
	table := r.table.Load()
	var ids []string
	for _, g := range granted {
		if table.ByContractAlone(reader, g.Filter) {
			ids = append(ids, g.Filter.Tags["d"]...)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	left := r.cfg.Guesses.Left(who)
	unseen, err := r.store.ContractsUnseen(ctx, reader, ids, !left)
	switch {
	case err != nil:
		return err
	case unseen > 0 && (!left || !r.cfg.Guesses.Take(who, unseen)):
		return errGuessed
	}
	return nil
}
