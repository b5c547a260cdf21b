package policy

import (
	"context"
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/nips/nipae"
)

func (p *Policy) rejectBanned(_ context.Context, ev *nostr.Event) (bool, string) {
	switch {
	case has(p.bannedEvents, ev.ID):
		return true, "blocked: the operator of this relay has banned this event"
	case rightToVanish(ev) || has(p.allowedEvents, ev.ID):
		return false, ""
	case has(p.bannedAuthors, ev.PubKey):
		return true, "blocked: this key may not write here"
	case has(p.bannedKinds, ev.Kind):
		return true, kindRefused(ev.Kind)
	}
	return false, ""
}

func (p *Policy) rejectKind(_ context.Context, ev *nostr.Event) (bool, string) {
	if len(p.kinds) == 0 || has(p.kinds, ev.Kind) || ev.Kind == nostr.KindDeletion ||
		rightToVanish(ev) || p.ownApproval(ev) || has(p.allowedEvents, ev.ID) {
		return false, ""
	}
	return true, kindRefused(ev.Kind)
}

func kindRefused(kind int) string {
	return "blocked: kind " + strconv.Itoa(kind) + " is not accepted here"
}

// ownApproval reports whether ev is a listed owner's list of approved agents.
func (p *Policy) ownApproval(ev *nostr.Event) bool {
	return ev.Kind == nostr.KindApplicationSpecificData && has(p.owners, ev.PubKey) && ev.Tags.GetD() == gate.ApprovalD
}

// rejectAuthor rejects events of authors that neither list lets in.
func (p *Policy) rejectAuthor(ctx context.Context, ev *nostr.Event) (bool, string) {
	if len(p.authors) == 0 && len(p.owners) == 0 || has(p.authors, ev.PubKey) || rightToVanish(ev) || has(p.allowedEvents, ev.ID) {
		return false, ""
	}
	if len(p.owners) == 0 {
		return true, "restricted: only listed keys may write here"
	}
	vouched, err := p.vouchedFor(ctx, ev)
	switch {
	case err != nil:
		// Who may write is not known, and neither answer would be true.
		return true, "error: the owner's approvals could not be read; try again"
	case vouched:
		return false, ""
	case ev.Kind == nipae.Kind && !has(p.owners, owner(ev)):
		return true, "restricted: engrams are accepted here for listed owners only"
	default:
		return true, "restricted: no listed owner has vouched for this key: " +
			"add his NIP-OA auth tag, or have him store an approval (engramctl agents allow)"
	}
}

// vouchedFor reports whether an owner that counts for ev vouches for its
// author: the one it names, if it is an engram, else any that is listed.
func (p *Policy) vouchedFor(ctx context.Context, ev *nostr.Event) (bool, error) {
	candidates := p.ownerList
	if ev.Kind == nipae.Kind {
		if o := owner(ev); has(p.owners, o) {
			candidates = []string{o}
		} else {
			return false, nil
		}
	}
	attesting, attested := p.memory.attestedOwner(ev)
	for _, o := range candidates {
		if o == ev.PubKey || attested && o == attesting {
			return true, nil
		}
	}
	for _, o := range candidates {
		if ok, err := p.approved(ctx, o, ev.PubKey); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

// owner returns the owner that an engram names. Its envelope has been checked:
// there is exactly one p tag.
func owner(ev *nostr.Event) string {
	if tag := ev.Tags.Find("p"); tag != nil {
		return tag[1]
	}
	return ""
}
