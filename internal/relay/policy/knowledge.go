package policy

import (
	"context"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// knowledge is what a decision about an event's author rests on beside the
// lists and the event.
type knowledge interface {
	// attestedBeside reports whether one of the owners vouches for the author by
	// what came beside the event; if not, the error says why what came does not
	// count, and is nil if nothing came.
	attestedBeside(ev *nostr.Event, owners []string) (ok bool, why error)
	// hasVouched reports whether an attestation by one of the owners for an agent
	// was seen, and would count now.
	hasVouched(owners []string, agent string) bool
	approved(owners []string, agent string) (bool, error)
	provisioned(key string) (bool, error)
	isOwn(ev *nostr.Event) bool
}

// here is what is known where an event is taken.
type here struct {
	p   *Policy
	ctx context.Context // of the request that brings it
}

func (h here) attestedBeside(ev *nostr.Event, owners []string) (ok bool, why error) {
	for _, a := range h.p.Attested(h.ctx) {
		if a.agent != ev.PubKey {
			continue
		}
		if why = a.vouches(ev, owners); why == nil {
			h.p.memory.vouched(a.attestation)
			return true, nil
		}
	}
	return false, why
}

func (h here) hasVouched(owners []string, agent string) bool {
	now := &nostr.Event{Kind: nipae.Kind, PubKey: agent, CreatedAt: nostr.Timestamp(h.p.Clock().Unix())}
	return h.p.memory.hasVouched(owners, now)
}

func (h here) approved(owners []string, agent string) (bool, error) {
	return h.p.Approved(h.ctx, owners, agent)
}
func (h here) provisioned(key string) (bool, error) { return h.p.Provisioned(h.ctx, key) }
func (h here) isOwn(ev *nostr.Event) bool           { return h.p.isOwn(ev) }

// there is what is known at an event's place.
type there struct {
	p       *Policy
	vouched []string
	asks    Asks
	failed  error // a look-up
}

// attestedBeside remembers, as here does, who has vouched: then Vouched knows of
// attestations that other nodes have seen.
func (t *there) attestedBeside(ev *nostr.Event, owners []string) (ok bool, why error) {
	for _, text := range t.vouched {
		if text == vouchedOwn || strings.HasPrefix(text, vouchedAgent) {
			continue
		}
		said, fault := strings.CutPrefix(text, vouchedFault)
		by, rest, _ := strings.Cut(said, " ")
		switch {
		case by != "" && !slices.Contains(owners, by):
			why = otherOwner
		case fault:
			why = unattested(rest)
		default:
			t.p.memory.vouched(attestation{agent: ev.PubKey, owner: by, conditions: rest})
			return true, nil
		}
	}
	return false, why
}

func (t *there) hasVouched(owners []string, _ string) bool {
	return slices.ContainsFunc(owners, func(o string) bool { return slices.Contains(t.vouched, vouchedAgent+o) })
}

func (t *there) approved(owners []string, agent string) (ok bool, err error) {
	if ok, err = t.asks.Approved(owners, agent); err != nil {
		t.failed = err
	}
	return ok, err
}

func (t *there) provisioned(key string) (made bool, err error) {
	if made, err = t.asks.Provisioned(key); err != nil {
		t.failed = err
	}
	return made, err
}

func (t *there) isOwn(ev *nostr.Event) bool {
	return ev.Kind == niptemp.KindState && slices.Contains(t.vouched, vouchedOwn)
}
