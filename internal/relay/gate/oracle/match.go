package oracle

import (
	"slices"

	"github.com/nbd-wtf/go-nostr"
)

// Matches reports whether the filter asks for the event (NIP-01). A nil list is
// no condition, an empty one matches nothing. Limit and search are ignored.
func Matches(f nostr.Filter, ev *nostr.Event) bool {
	if f.IDs != nil && !slices.Contains(f.IDs, ev.ID) {
		return false
	}
	if f.Authors != nil && !slices.Contains(f.Authors, ev.PubKey) {
		return false
	}
	if f.Kinds != nil && !slices.Contains(f.Kinds, ev.Kind) {
		return false
	}
	if f.Since != nil && ev.CreatedAt < *f.Since {
		return false
	}
	if f.Until != nil && ev.CreatedAt > *f.Until {
		return false
	}
	for name, wanted := range f.Tags {
		if wanted != nil && !hasTag(ev, name, wanted) {
			return false
		}
	}
	return true
}

func hasTag(ev *nostr.Event, name string, wanted []string) bool {
	for _, tag := range ev.Tags {
		if len(tag) > 1 && tag[0] == name && slices.Contains(wanted, tag[1]) {
			return true
		}
	}
	return false
}

// Heads returns the events that a relay holding all of these shows: of each
// replaceable and addressable address the greatest created_at, ties by lowest
// id. Deletion and expiry are not considered.
func Heads(events []*nostr.Event) []*nostr.Event {
	var heads []*nostr.Event
	for _, ev := range events {
		if !slices.ContainsFunc(events, func(other *nostr.Event) bool { return supersedes(other, ev) }) {
			heads = append(heads, ev)
		}
	}
	return heads
}

// Left returns those of the events that a relay keeps which got all of these:
// none that was only passed on (ephemeral), none that its author named by id in
// a deletion request.
func Left(events, all []*nostr.Event) []*nostr.Event {
	var left []*nostr.Event
	for _, ev := range events {
		if ephemeral := ev.Kind >= 20000 && ev.Kind < 30000; !ephemeral && !TakenBack(ev, all) {
			left = append(left, ev)
		}
	}
	return left
}

// TakenBack reports whether the author of the event named it by id in one of
// these deletion requests. Of contract memory the parties still see it.
func TakenBack(ev *nostr.Event, all []*nostr.Event) bool {
	return slices.ContainsFunc(all, func(request *nostr.Event) bool {
		return request.Kind == 5 && ev.Kind != 5 && ev.Kind != 62 && request.PubKey == ev.PubKey && slices.Contains(named(request), ev.ID)
	})
}

func supersedes(a, b *nostr.Event) bool {
	if a.Kind != b.Kind || a.PubKey != b.PubKey || a.ID == b.ID {
		return false
	}
	addressable := a.Kind >= 30000 && a.Kind < 40000
	replaceable := a.Kind == 0 || a.Kind == 3 || (a.Kind >= 10000 && a.Kind < 20000)
	if !replaceable && (!addressable || dOf(a) != dOf(b)) {
		return false
	}
	return a.CreatedAt > b.CreatedAt || (a.CreatedAt == b.CreatedAt && a.ID < b.ID)
}
