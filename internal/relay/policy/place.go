package policy

import (
	"context"
	"errors"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nip01"
	"engramd/nips/nipae"
)

// Asks looks up what is stored, as it is at an event's place: the same on every
// node. A store.Admitting is one.
type Asks interface {
	// Approved reports whether one of the owners' stored lists names the agent.
	Approved(owners []string, agent string) (bool, error)
	// Provisioned reports whether the operator had the key made for an agent.
	Provisioned(key string) (bool, error)
}

// AtOrigin applies the rules that the node which takes an event decides: its
// shape, whether it is protected, its times, and rates; of an event that is not
// stored all rules. It is a Hook.
//
// What AtPlace refuses later has been charged to who sent it; NotStored gives
// its author back what was charged to them.
func (p *Policy) AtOrigin(ctx context.Context, ev *nostr.Event) (reject bool, msg string) {
	if nostr.IsEphemeralKind(ev.Kind) {
		return p.RejectEvent(ctx, ev)
	}
	for _, hook := range p.origin {
		if reject, msg = hook(ctx, ev); reject {
			return reject, msg
		}
	}
	return false, ""
}

// AtPlace applies the rules that lists decide: banned events, authors and kinds,
// listed kinds, and who may write. It depends on its arguments and on the
// policy's options alone, so that every node with the same lists decides alike.
// vouched is what Vouched returned where the event was taken. nil is no refusal.
// After an error, which is one of asks, nothing is decided.
func (p *Policy) AtPlace(ev *nostr.Event, vouched []string, asks Asks) (*nip01.Refusal, error) {
	ctx := context.Background()
	for _, rule := range []Hook{p.rejectBanned, p.rejectKind} {
		if reject, msg := rule(ctx, ev); reject {
			return nip01.Parse(msg), nil
		}
	}
	k := &there{p: p, vouched: vouched, asks: asks}
	reject, msg := p.judgeAuthor(k, ev)
	switch {
	case k.failed != nil:
		return nil, k.failed
	case reject:
		return nip01.Parse(msg), nil
	}
	return nil, nil
}

// What Vouched says, one text each. An owner's key in hex, behind which the
// conditions of the attestation follow if there are any, is one whose
// attestation came beside the event and counts for it.
const (
	vouchedOwn   = "own" // the relay itself has signed the event, a contract's state
	vouchedAgent = ">"   // an owner follows who has vouched for the agent that an engram names
	vouchedFault = "!"   // the owner of an attestation follows, if it has one, and why it does not count
)

// maxVouchers bounds the owners of whom one would do.
const maxVouchers = 8

// Vouched returns what is known here of an event and not written on it, as far
// as AtPlace needs it: which attestations that came beside it count, who has
// vouched for the agent that it names, and whether it is the relay's own. It is
// nil for an event that needs none of that, as where no list says who may
// write.
func (p *Policy) Vouched(ctx context.Context, ev *nostr.Event) (vouched []string) {
	switch {
	case p.anybody():
		return nil
	case p.isOwn(ev):
		return []string{vouchedOwn}
	case len(p.owners) == 0:
		return nil
	}
	fault := ""
	for _, a := range p.Attested(ctx) {
		if a.agent != ev.PubKey {
			continue
		}
		fault = ""
		if err := a.faultFor(ev); err != nil {
			fault = vouchedFault + a.owner + " " + reasonOf(err)
			continue
		}
		vouched = append(vouched, strings.TrimSuffix(a.owner+" "+a.conditions, " "))
	}
	if fault != "" { // the last one is what its sender is told of
		vouched = append(vouched, fault)
	}
	if ev.Kind != nipae.Kind || has(p.owners, owner(ev)) {
		return vouched
	}
	by, n := p.ownerList, 0
	if has(p.owners, ev.PubKey) {
		by = []string{ev.PubKey}
	}
	k := here{p, ctx}
	for _, o := range by {
		if n < maxVouchers && k.hasVouched([]string{o}, owner(ev)) {
			vouched, n = append(vouched, vouchedAgent+o), n+1
		}
	}
	return vouched
}

// errNotReady is AtPlace's where there is no policy yet.
var errNotReady = errors.New("there is no write policy yet")

// AtPlace applies the current policy's: those that were in force before the
// event's place must have been set before it is called.
func (l *Live) AtPlace(ev *nostr.Event, vouched []string, asks Asks) (*nip01.Refusal, error) {
	p := l.current.Load()
	if p == nil {
		return nil, errNotReady
	}
	return p.AtPlace(ev, vouched, asks)
}
