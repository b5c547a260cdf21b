package transfer

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/kind"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

const (
	// fewAddresses is up to how many of one author history is asked for one by
	// one.
	fewAddresses = 8
	// everywhere is what a request to vanish names in place of a relay (NIP-62).
	everywhere = "ALL_RELAYS"
)

// address is where versions of one thing replace each other (NIP-01).
type address struct {
	kind      int
	author, d string
}

// addressOf returns the address of an event; false where it has none.
func addressOf(ev *nostr.Event) (address, bool) {
	a := address{kind: ev.Kind, author: ev.PubKey}
	if nostr.IsAddressableKind(ev.Kind) {
		a.d = ev.Tags.GetD()
	}
	return a, client.Replaceable(ev.Kind)
}

// row is what events are sent one after the other by: versions of an address, and
// everything of a contract, whose moves follow one another.
func (a address) row() string {
	if a.kind == niptemp.KindEntry || a.kind == niptemp.KindState {
		return "contract " + a.d
	}
	return strconv.Itoa(a.kind) + " " + a.author + " " + a.d
}

// plan decides what is sent to a target, oldest first, and notes in the report
// what is not.
func (x *transfer) plan(ctx context.Context, to *Peer, lacked map[string]*offered, t *Target) ([]*nostr.Event, error) {
	var out []*nostr.Event
	byAddress := map[address][]*offered{}
	gone := removals{map[string]bool{}, map[string]nostr.Timestamp{}}
	for _, o := range lacked {
		a, has := addressOf(o.event)
		switch {
		case x.expired(o.event):
			t.Expired++
		case o.event.Kind == kind.Vanish && !vanishesAt(o.event, to):
			t.Others++
		case has:
			byAddress[a] = append(byAddress[a], o)
		default:
			out = append(out, o.event)
			gone.add(o.event)
		}
	}
	known, err := x.past(ctx, to, byAddress)
	if err != nil {
		return nil, err
	}
	heads, err := x.headsAt(ctx, to, addressesOf(byAddress, known))
	if err != nil {
		return nil, err
	}
	past, err := x.placePast(ctx, to, known, byAddress, heads, gone, t)
	if err != nil {
		return nil, err
	}
	for a, versions := range byAddress {
		if head := heads[a]; head != nil {
			newer := slices.DeleteFunc(slices.Clone(versions), func(o *offered) bool { return nipae.Newer(head, o.event) })
			t.Newer += len(versions) - len(newer)
			versions = newer
		}
		slices.SortFunc(versions, func(a, b *offered) int { return oldestFirst(a.event, b.event) })
		for i, o := range versions {
			// A relay that keeps every version shows several as current.
			if i < len(versions)-1 && !x.keeps[to] {
				t.NotMoved = append(t.NotMoved, Moved{o.event, "the relay shows no history"})
				continue
			}
			out = append(out, o.event)
		}
	}
	slices.SortFunc(t.NotMoved, func(a, b Moved) int { return oldestFirst(a.Event, b.Event) })
	return x.gated(ctx, to, unique(append(out, past...)), t)
}

// expired reports whether an event's time is over (NIP-40).
func (x *transfer) expired(ev *nostr.Event) bool {
	at, expires := nipae.Expiration(ev)
	return expires && at <= x.Clock().Unix()
}

// vanishesAt reports whether a request to vanish is for a relay (NIP-62).
func vanishesAt(ev *nostr.Event, at *Peer) bool {
	return slices.ContainsFunc(ev.Tags, func(tag nostr.Tag) bool {
		if len(tag) < 2 || tag[0] != "relay" {
			return false
		}
		url, err := nipae.CanonicalRelayURL(tag[1])
		return tag[1] == everywhere || err == nil && url == at.t.Canonical
	})
}

// oldestFirst orders events so that of one address the last one counts.
func oldestFirst(a, b *nostr.Event) int {
	return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(b.Kind, a.Kind), strings.Compare(b.ID, a.ID))
}

func unique(events []*nostr.Event) []*nostr.Event {
	slices.SortFunc(events, oldestFirst)
	return slices.CompactFunc(events, func(a, b *nostr.Event) bool { return a.ID == b.ID })
}

// memoryKinds are the kinds that a pair of keys shares.
var memoryKinds = []int{nipae.Kind, niptemp.KindState, niptemp.KindEntry}

// contractKinds are those of them that two parties write.
var contractKinds = []int{niptemp.KindState, niptemp.KindEntry}

// EverythingOf is what belongs to a key: what it signed of memory, contracts,
// deletions, requests to vanish and its list of relays, and what names it. since
// leaves out what is older; 0 nothing. Contracts have filters of their own: not
// every relay may be told their ids.
func EverythingOf(pubkey string, since int64) []nostr.Filter {
	return bounded(since,
		nostr.Filter{Kinds: []int{nipae.Kind, nostr.KindDeletion, kind.Vanish, nostr.KindRelayListMetadata}, Authors: []string{pubkey}},
		nostr.Filter{Kinds: []int{nipae.Kind}, Tags: nostr.TagMap{"p": {pubkey}}},
		nostr.Filter{Kinds: slices.Clone(contractKinds), Authors: []string{pubkey}},
		nostr.Filter{Kinds: slices.Clone(contractKinds), Tags: nostr.TagMap{"p": {pubkey}}})
}

// MemoryOf is the memory of one agent that its owner may see, and its list of
// relays.
func MemoryOf(agent, owner string, since int64) []nostr.Filter {
	return bounded(since,
		nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{agent}, Tags: nostr.TagMap{"p": {owner}}},
		nostr.Filter{Kinds: []int{nostr.KindRelayListMetadata}, Authors: []string{agent}})
}

func bounded(since int64, filters ...nostr.Filter) []nostr.Filter {
	for i := range filters {
		if since > 0 {
			filters[i].Since = new(nostr.Timestamp(since))
		}
	}
	return filters
}
