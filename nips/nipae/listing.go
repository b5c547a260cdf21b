package nipae

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/nbd-wtf/go-nostr"
)

// Listing is the whole memory of a pair as a set of events shows it (NIP-AE,
// "Listing"): the head of every address.
type Listing struct {
	// Core is the head of core, nil if there is none.
	Core *Engram
	// Memories are the heads that have a value, by slug.
	Memories []Engram
	// Tombstones are the heads that say that there is nothing, by slug.
	Tombstones []Engram
	// Unreadable are the addresses at which nothing is valid, by d tag. Their
	// slugs cannot be known, but the memory is there: never absent.
	Unreadable []UnreadableAddress
	// Doubtful counts the events that claim to be newer than a head and are not
	// valid.
	Doubtful int
	// Outside are events of another kind, author or owner, or without one
	// proper d tag: what nobody asked for.
	Outside []Rejection

	readings map[string]Reading // by d tag
}

// UnreadableAddress is an address with events of which none is valid.
type UnreadableAddress struct {
	D string
	Reading
}

// SelectHeads groups what every relay returned for kind 30174, the agent as
// author and the owner as #p by d tag, and selects the head of each group as
// SelectHead does. Order and duplicates do not matter. Whether a relay's cap
// cut the answer short is not visible here: page until it is exhausted.
func SelectHeads(k ConversationKey, agent, owner string, candidates []*nostr.Event) Listing {
	groups := make(map[string][]*nostr.Event)
	var l Listing
	for _, ev := range distinct(candidates) {
		d, err := addressOf(agent, owner, ev)
		if err != nil {
			l.Outside = append(l.Outside, Rejection{Event: ev, Err: err})
			continue
		}
		groups[d] = append(groups[d], ev)
	}
	l.readings = make(map[string]Reading, len(groups))
	for d, events := range groups {
		l.readings[d] = selectAt(k, agent, owner, events)
	}
	return l.sorted()
}

// With returns the listing with those as the heads of their addresses.
func (l Listing) With(heads []Engram) Listing {
	out := Listing{Outside: l.Outside, readings: maps.Clone(l.readings)}
	for _, e := range heads {
		out.readings[e.Event.Tags.GetD()] = Reading{Head: &e, Latest: e.CreatedAt()}
	}
	return out.sorted()
}

// sorted lists the readings.
func (l Listing) sorted() Listing {
	for _, d := range slices.Sorted(maps.Keys(l.readings)) {
		l.add(d, l.readings[d])
	}
	bySlug := func(a, b Engram) int { return cmp.Compare(a.Slug(), b.Slug()) }
	slices.SortFunc(l.Memories, bySlug)
	slices.SortFunc(l.Tombstones, bySlug)
	return l
}

func (l *Listing) add(d string, r Reading) {
	switch {
	case r.Head == nil:
		l.Unreadable = append(l.Unreadable, UnreadableAddress{D: d, Reading: r})
		return
	case r.Head.Slug().IsCore():
		l.Core = r.Head
	case r.Tombstone():
		l.Tombstones = append(l.Tombstones, *r.Head)
	default:
		l.Memories = append(l.Memories, *r.Head)
	}
	l.Doubtful += r.Unreadable
}

// At returns what SelectHead returns for the slug with that address (see
// ConversationKey.Address) and the events of the listing that are at it. An
// address that the listing does not have is absent, unless nothing at all in
// the answers was readable: then it is ErrNothingReadable, as a wrong key finds
// neither texts nor addresses.
func (l Listing) At(d string) (Reading, error) {
	if r, ok := l.readings[d]; ok {
		return r, r.err()
	}
	if !l.unreadable() {
		return Reading{}, nil
	}
	r := Reading{Outside: l.Outside}
	for _, u := range l.Unreadable {
		r.Outside = slices.Concat(r.Outside, u.Rejected)
	}
	return r, r.err()
}

// Err is ErrNothingReadable if relays did return events and not one of them is
// a valid engram of the pair: the memory is not empty then, but unreadable. A
// listing with some heads is no error, even if it has Unreadable addresses.
func (l Listing) Err() error {
	if !l.unreadable() {
		return nil
	}
	places := fmt.Errorf("%w: %s", ErrNothingReadable, counted(len(l.Unreadable), "place"))
	if len(l.Outside) == 0 {
		return places
	}
	return fmt.Errorf("%w, and %s not of this pair", places, counted(len(l.Outside), "event"))
}

// unreadable reports whether there were events, none of them valid.
func (l Listing) unreadable() bool {
	readable := l.Core != nil || len(l.Memories) > 0 || len(l.Tombstones) > 0
	return !readable && len(l.Unreadable)+len(l.Outside) > 0
}

// Heads returns every head that has a text, core first and then by slug: what
// Reach takes.
func (l Listing) Heads() []Engram {
	heads := make([]Engram, 0, len(l.Memories)+1)
	if l.Core != nil {
		heads = append(heads, *l.Core)
	}
	return append(heads, l.Memories...)
}
