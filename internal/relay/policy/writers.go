package policy

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

const bannedAuthor = "blocked: this key may not write here"

func (p *Policy) rejectBanned(_ context.Context, ev *nostr.Event) (bool, string) {
	switch {
	case has(p.bannedEvents, ev.ID):
		return true, "blocked: the operator of this relay has banned this event"
	case rightToVanish(ev) || has(p.allowedEvents, ev.ID):
		return false, ""
	case has(p.bannedAuthors, ev.PubKey):
		return true, bannedAuthor
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

// isOwn reports whether ev is a contract's state that the relay itself has
// signed: nothing else is its own to say here.
func (p *Policy) isOwn(ev *nostr.Event) bool {
	return ev.Kind == niptemp.KindState && p.Own != nil && p.Own(ev.PubKey)
}

// rejectAuthor rejects events of authors that neither list lets in.
func (p *Policy) rejectAuthor(ctx context.Context, ev *nostr.Event) (bool, string) {
	if p.anybody() || has(p.authors, ev.PubKey) {
		return false, "" // without a look at anything else
	}
	return p.judgeAuthor(here{p, ctx}, ev)
}

// anybody reports whether no list says who may write.
func (p *Policy) anybody() bool { return len(p.authors) == 0 && len(p.owners) == 0 }

// judgeAuthor is rejectAuthor by what is known of the event.
func (p *Policy) judgeAuthor(k knowledge, ev *nostr.Event) (bool, string) {
	if p.anybody() || has(p.authors, ev.PubKey) || rightToVanish(ev) || has(p.allowedEvents, ev.ID) || k.isOwn(ev) {
		return false, ""
	}
	switch made, err := k.provisioned(ev.PubKey); {
	case err != nil:
		return true, "error: who may write could not be read; try again"
	case made:
		return false, ""
	}
	if len(p.owners) == 0 {
		return true, "restricted: only listed keys may write here"
	}
	if ev.Kind != nipae.Kind {
		return rejectedFor(p.unvouched(k, ev, p.ownerList))
	}
	if o := owner(ev); has(p.owners, o) {
		return rejectedFor(p.unvouched(k, ev, []string{o}))
	}
	return rejectedFor(p.unproposable(k, ev))
}

// rejectedFor is a Hook's answer: "" rejects nothing.
func rejectedFor(msg string) (bool, string) { return msg != "", msg }

// unvouched returns why none of the owners vouches for the author of ev, ""
// if one does or is the author.
func (p *Policy) unvouched(k knowledge, ev *nostr.Event, owners []string) string {
	if slices.Contains(owners, ev.PubKey) {
		return ""
	}
	attested, why := p.attestedFor(k, ev, owners)
	if attested {
		return ""
	}
	switch ok, err := k.approved(owners, ev.PubKey); {
	case err != nil:
		// Who may write is not known, and neither answer would be true.
		return approvalsFailed
	case ok:
		return ""
	}
	return unvouchedAuthor + why
}

const approvalsFailed = "error: the owner's approvals could not be read; try again"

// unvouchedAuthor is followed by what the writer can do, or did wrong.
const unvouchedAuthor = "restricted: no listed owner has vouched for this key: "

// attestedFor reports whether one of the owners attests the author of ev, by
// the auth tag on it or by what came beside it. If not, why continues
// unvouchedAuthor.
func (p *Policy) attestedFor(k knowledge, ev *nostr.Event, owners []string) (ok bool, why string) {
	a, err := p.memory.attestationOn(ev)
	if err == nil && slices.Contains(owners, a.owner) {
		p.memory.vouched(a)
		return true, ""
	}
	ok, faultBeside := k.attestedBeside(ev, owners)
	switch {
	case ok:
		return true, ""
	case faultBeside != nil:
		return false, "the attestation in AUTH or x-auth-tag does not count: " + reasonOf(faultBeside)
	case AuthTag(ev) == nil:
		return false, "send his NIP-OA attestation (an auth tag on the event or in AUTH, or the x-auth-tag header), " +
			"or have him store an approval (engramctl agents allow)"
	case err == nil:
		err = otherOwner
	}
	return false, "the auth tag on the event does not count: " + reasonOf(err)
}

// reasonOf returns the reason alone of an ErrAttestation.
func reasonOf(err error) string {
	var u unattested
	if errors.As(err, &u) {
		return string(u)
	}
	return err.Error()
}

// owner returns the owner that an engram names. Its envelope has been checked:
// there is exactly one p tag.
func owner(ev *nostr.Event) string {
	if tag := ev.Tags.Find("p"); tag != nil {
		return tag[1]
	}
	return ""
}

// What a key may do without an event is decided where it asks, also where
// several nodes hold the same memory.

// Banned returns why a key may write no event, whatever it is; "" for one that
// may.
func (l *Live) Banned(_ context.Context, key string) string {
	switch p := l.current.Load(); {
	case p == nil:
		return notReady
	case has(p.bannedAuthors, key):
		return bannedAuthor
	}
	return ""
}

// Unlisted returns why the lists of writers do not let a key write, with what
// vouches for it beside events; "" for one that may. It is for what no event
// says.
func (l *Live) Unlisted(ctx context.Context, key string) string {
	p := l.current.Load()
	if p == nil {
		return notReady
	}
	_, why := p.rejectAuthor(ctx, &nostr.Event{Kind: niptemp.KindEntry, PubKey: key})
	return why
}
