package policy

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// RejectMalformed rejects engrams (NIP-AE), contract entries and contract
// states (NIP-TEMP) that are wrong in themselves. It must run before the store
// replaces anything: as a head, such an event would hide a good one.
func RejectMalformed(_ context.Context, ev *nostr.Event) (bool, string) {
	switch ev.Kind {
	case nipae.Kind:
		if err := nipae.CheckEnvelope(ev); err != nil {
			return true, "invalid: " + err.Error()
		}
	case niptemp.KindEntry:
		if err := niptemp.CheckEntry(ev); err != nil {
			return true, err.Error()
		}
	case niptemp.KindState:
		if err := niptemp.CheckStateShape(ev); err != nil {
			return true, err.Error()
		}
	}
	return false, ""
}

// RejectUnpublishable rejects kinds 22242 (NIP-42) and 27235 (NIP-98): each is
// a proof made for one relay, and would be one in others' hands if broadcast.
func RejectUnpublishable(_ context.Context, ev *nostr.Event) (bool, string) {
	if ev.Kind == nostr.KindClientAuthentication || ev.Kind == nostr.KindHTTPAuth {
		return true, "invalid: kind " + strconv.Itoa(ev.Kind) + " proves an identity and is not published"
	}
	return false, ""
}

// rejectTagged rejects events with more tags than are taken.
func (p *Policy) rejectTagged(_ context.Context, ev *nostr.Event) (bool, string) {
	if p.MaxTags > 0 && len(ev.Tags) > p.MaxTags {
		return true, fmt.Sprintf("invalid: an event may have at most %d tags", p.MaxTags)
	}
	return false, ""
}

// rejectExpired rejects events whose time is over (NIP-40), and those whose tag
// holds no time: whoever wrote one wants the event gone at some time, and the
// store would keep it for ever.
//
// Contract memory does not expire: what was said is not to go without a trace.
func (p *Policy) rejectExpired(_ context.Context, ev *nostr.Event) (bool, string) {
	if ev.Kind == niptemp.KindEntry || ev.Kind == niptemp.KindState {
		if !p.Import && slices.ContainsFunc(ev.Tags, func(tag nostr.Tag) bool { return len(tag) > 0 && tag[0] == "expiration" }) {
			return true, "invalid: contract memory does not expire: leave the expiration tag out"
		}
		return false, ""
	}
	for _, tag := range ev.Tags {
		if len(tag) == 0 || tag[0] != "expiration" {
			continue
		}
		at := int64(0)
		if len(tag) > 1 {
			at, _ = strconv.ParseInt(tag[1], 10, 64) // 0 and the largest number mean the same as no time
		}
		switch {
		case at > 0 && at < math.MaxInt64:
			if at <= p.Clock().Unix() {
				return p.byClock("invalid: the event has expired")
			}
		case !p.Import: // what another relay has taken is kept as it is
			return true, "invalid: the expiration tag holds no time: give unix seconds, or leave it out"
		}
		break
	}
	return false, ""
}

// rejectFuture rejects events from too far ahead: they would stay heads until
// their time has come.
func (p *Policy) rejectFuture(_ context.Context, ev *nostr.Event) (bool, string) {
	if int64(ev.CreatedAt) > p.Clock().Add(p.Future).Unix() {
		return p.byClock("invalid: created_at is more than " + p.Future.String() + " ahead of this relay's clock")
	}
	return false, ""
}

// byClock rejects an event for its time, which may be right if the clock is not.
func (p *Policy) byClock(why string) (bool, string) {
	if !p.Confirmed() {
		why = "error: clock not confirmed"
	}
	return true, why
}

// rejectProtected rejects protected events (NIP-70) from others than their
// author.
func (p *Policy) rejectProtected(ctx context.Context, ev *nostr.Event) (bool, string) {
	if !protected(ev) {
		return false, ""
	}
	switch reader := p.Reader(ctx); {
	case reader.Has(ev.PubKey):
		return false, ""
	case reader.Empty():
		return true, "auth-required: the event is protected: authenticate as its author"
	default:
		return true, "restricted: the event is protected: only its author may publish it"
	}
}

// rejectProtectedRepost rejects reposts (kinds 6 and 16, NIP-18) that carry a
// protected event along, which would publish it after all (NIP-70).
func rejectProtectedRepost(_ context.Context, ev *nostr.Event) (bool, string) {
	if ev.Kind != nostr.KindRepost && ev.Kind != nostr.KindGenericRepost || ev.Content == "" {
		return false, ""
	}
	if inner, err := wire.ParseEvent([]byte(ev.Content)); err == nil && protected(inner) {
		return true, "blocked: a repost must not carry a protected event"
	}
	return false, ""
}

// protected reports whether the event has NIP-70's tag, even one with values
// that it should not have: its author meant it.
func protected(ev *nostr.Event) bool {
	return slices.ContainsFunc(ev.Tags, func(tag nostr.Tag) bool { return len(tag) > 0 && tag[0] == "-" })
}
