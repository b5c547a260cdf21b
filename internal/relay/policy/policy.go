package policy

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
)

// Hook is khatru's RejectEvent: whether to reject, and the message with its
// NIP-01 prefix.
type Hook = func(ctx context.Context, ev *nostr.Event) (reject bool, msg string)

// Policy is the compiled write policy. Its rules apply in this order, and the
// first that rejects decides:
//
//  1. invalid: events with more tags than MaxTags; engrams, contract entries and contract states whose envelope,
//     tags or payload their readers must discard; kinds 22242 and 27235, which
//     are answers to challenges and no events; events past their expiration
//     (NIP-40); a request to vanish (NIP-62) addressed to other relays.
//  2. auth-required or restricted: protected events (NIP-70) that somebody else
//     than their author delivers. blocked: reposts that carry one.
//  3. invalid: created_at too far ahead.
//  4. blocked: banned events, banned authors, banned kinds, kinds that are not listed.
//  5. restricted: authors that may not write. With write.authors alone that is
//     everybody who is not listed. With write.owners an engram passes if its
//     owner (p) is listed and vouches for its author, by a NIP-OA auth tag on
//     the event or beside it (Attestation), or by a stored approval; owners
//     vouch for themselves. So do engrams the other way, which propose and answer:
//     from a listed owner to an agent for whom he vouches, and between two
//     agents for whom listed owners vouch; the one that is named sends nothing
//     along, so an attestation of his counts if it was seen. Any other kind passes if its author is a listed
//     owner or a listed owner vouches for the author: an agent needs deletions,
//     relay lists and contracts besides engrams. With both lists, passing one is
//     enough; keys that the operator provisioned for agents pass every list.
//  6. rate-limited.
//  7. error: no room, or only such as is kept for known keys (Room).
//
// Events in AllowedEvents are exempt from 4 and 5, but for a ban of the event
// itself.
//
// Of several nodes that hold the same memory, the one that takes an event
// decides 1 to 3, 6 and 7 (AtOrigin); 4 and 5, which lists decide, every node
// decides when the event has its place in their common order, and alike
// (AtPlace). An event that is not stored has no place: all of it is decided
// where it is taken.
//
// Some kinds do more than write, and are exempt where they would be pointless
// otherwise. A request to vanish reaches the relay from everybody, banned or
// not (NIP-62 demands it); to be no way of storing things, it must be short if
// its author may not write. A listed owner may always store an approval list,
// and where only some kinds are accepted, deletion requests are too: whoever
// may write may delete.
type Policy struct {
	*rules
	memory *memory
	hooks  []Hook
	origin []Hook // those of AtOrigin
}

// New compiles a policy. The error names every option at fault.
func New(o Options) (*Policy, error) {
	return build(o, newMemory())
}

// Reload compiles a policy to take p's place: the rate limits go on from what
// authors and shares have used up, under the new rates.
func (p *Policy) Reload(o Options) (*Policy, error) {
	return build(o, p.memory)
}

func build(o Options, m *memory) (*Policy, error) {
	r, err := compile(o)
	if err != nil {
		return nil, err
	}
	p := &Policy{rules: r, memory: m}
	p.hooks = []Hook{
		p.rejectTagged, RejectMalformed, RejectUnpublishable, p.rejectExpired, p.rejectMisaddressedVanish,
		p.rejectProtected, rejectProtectedRepost,
		p.rejectFuture,
	}
	p.origin = slices.Clone(p.hooks)
	p.hooks = append(p.hooks, p.rejectBanned, p.rejectKind, p.rejectAuthor)
	if o.Rates.any() {
		rate := p.rejectRate(o.Rates)
		p.hooks, p.origin = append(p.hooks, rate), append(p.origin, rate)
	}
	if o.Room != nil {
		p.hooks, p.origin = append(p.hooks, p.rejectCrowded), append(p.origin, p.rejectCrowded)
	}
	return p, nil
}

// RejectEvent applies all rules, in order. It is a Hook.
func (p *Policy) RejectEvent(ctx context.Context, ev *nostr.Event) (reject bool, msg string) {
	for _, hook := range p.hooks {
		if reject, msg = hook(ctx, ev); reject {
			return reject, msg
		}
	}
	return false, ""
}

// Live is a policy that can be swapped while events come in (SIGHUP). Its zero
// value rejects everything.
type Live struct{ current atomic.Pointer[Policy] }

// Set makes p the policy for events from now on.
func (l *Live) Set(p *Policy) { l.current.Store(p) }

// Current returns the policy last set, nil if there is none yet.
func (l *Live) Current() *Policy { return l.current.Load() }

const notReady = "error: the relay is not ready to take events"

// unready is the policy before there is one.
var unready = func() *Policy {
	reject := []Hook{func(context.Context, *nostr.Event) (bool, string) { return true, notReady }}
	return &Policy{rules: new(rules), memory: newMemory(), hooks: reject, origin: reject}
}()

func (l *Live) now() *Policy { return cmp.Or(l.current.Load(), unready) }

// NotStored is the current policy's.
func (l *Live) NotStored(who fairness.Who, ev *nostr.Event) { l.now().NotStored(who, ev) }

// RejectEvent applies the current policy. It is a Hook.
func (l *Live) RejectEvent(ctx context.Context, ev *nostr.Event) (reject bool, msg string) {
	return l.now().RejectEvent(ctx, ev)
}

// AtOrigin applies the current policy's. It is a Hook.
func (l *Live) AtOrigin(ctx context.Context, ev *nostr.Event) (reject bool, msg string) {
	return l.now().AtOrigin(ctx, ev)
}

// Vouched returns the current policy's.
func (l *Live) Vouched(ctx context.Context, ev *nostr.Event) []string {
	return l.now().Vouched(ctx, ev)
}

// SetPart is the current policy's.
func (l *Live) SetPart(nodes int) { l.now().SetPart(nodes) }
