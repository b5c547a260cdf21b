package query

import (
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// access is the index that a filter is answered from.
type access int

const (
	byID      access = iota // events_id
	byAddress               // events_address: one lookup per combination of kind, author and d
	byTag                   // the primary key of tags
	byAuthor                // events_author: per author and kind
	byKind                  // events_kind
	byTime                  // events_time for what everybody may read; a reader's own through the others
	byArrival               // the table itself, from a seq on
)

// String is the name by which logs and tests call the index.
func (a access) String() string {
	return [...]string{"id", "address", "tag", "author", "kind", "time", "arrival"}[a]
}

// Bounds of the planner.
const (
	// maxAddresses is how many combinations are looked up one by one before d
	// alone is the better start.
	maxAddresses = 4096
	// manyRanges is how many author ranges make a shorter list of tag values
	// the better start.
	manyRanges = 64
	// maxCursors is how many ranges are merged as open statements; of more, the
	// newest rows are collected range by range.
	maxCursors = 16
)

// plan is the chosen access with the tag it uses, if any.
type plan struct {
	want   *Wanted
	access access
	tag    *wantedTag // of byTag
}

// String names the access, and the tag by its name; no value of a filter is in
// it.
func (p plan) String() string {
	switch {
	case p.want == nil:
		return "" // nothing was read
	case p.tag != nil:
		return "tag #" + p.tag.name
	}
	return p.access.String()
}

// choose picks the access for a filter by what its conditions are expected to
// leave over: an id or an address names one event; a tag that points to
// something (d, e, a, …) selects few; an author, narrowed by kinds, selects
// fewer than whom or what events are about (p, t, …); a kind is the last resort
// before time alone.
func choose(w *Wanted) plan {
	p := plan{want: w}
	pointer := len(w.Tags) > 0 && tagRank(w.Tags[0].name) < tagRank("p")
	ranges := len(w.authors) * max(1, len(w.kinds))
	switch {
	case w.IDs != nil:
		p.access = byID
	case w.authors != nil && w.tag("d") != nil && w.allKinds(nostr.IsAddressableKind) &&
		ranges*len(w.tag("d").values) <= maxAddresses:
		p.access = byAddress
	case pointer,
		len(w.Tags) > 0 && w.authors == nil,
		len(w.Tags) > 0 && ranges > manyRanges && len(w.Tags[0].values) < ranges:
		p.access, p.tag = byTag, &w.Tags[0]
	case w.authors != nil:
		p.access = byAuthor
	case w.kinds != nil:
		p.access = byKind
	default:
		p.access = byTime
	}
	return p
}

// exactD reports whether every event of the wanted kinds has exactly one d tag,
// because the write policy sees to it. Of other addressable kinds an event may
// have more, which a filter matches too, but only the first is its address.
func exactD(w *Wanted) bool {
	return w.allKinds(func(kind int) bool {
		return slices.Contains([]int{nipae.Kind, niptemp.KindEntry, niptemp.KindState}, kind)
	})
}
