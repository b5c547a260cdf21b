package query

import (
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
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
	case w.authors != nil && w.d() != nil && w.allKinds(nostr.IsAddressableKind) &&
		ranges*len(w.d().values) <= maxAddresses:
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

// Bounds of what is a look-up: so many index entries to begin at, rows to give,
// and values in the whole filter.
const (
	fewStretches = 32
	FewRows      = 32
	fewValues    = 256
)

// effort says whether a page of the plan is a look-up: few rows to be found,
// and few to be passed over on the way. A page of what the reader has written
// himself counts as one too; of that there may be more, but then others have
// their turn after the first moments.
func (p plan) effort(ask store.Ask) engine.Effort {
	w := p.want
	if w.values() > fewValues {
		return engine.Scan
	}
	switch p.access {
	case byID:
		if len(w.IDs) <= fewStretches {
			return engine.LookUp
		}
	case byAddress:
		if len(w.authors)*len(w.kinds)*len(w.d().values) <= fewStretches && exactD(w) {
			return engine.LookUp
		}
	case byAuthor:
		few := len(w.authors)*len(w.kinds) <= fewStretches && len(w.kinds) > 0
		if few && (boundsOf(&ask).rows <= FewRows && len(w.Tags) == 0 || own(ask.Scope, ask.Filter.Authors)) {
			return engine.LookUp
		}
	}
	return engine.Scan
}

// own reports whether a list names keys that the reader has proved, and no
// others.
func own(scope gate.Scope, keys []string) bool {
	return len(keys) > 0 && !slices.ContainsFunc(keys, func(key string) bool { return !scope.Proves(key) })
}

// values is how many values the filter's lists have.
func (w *Wanted) values() int {
	n := len(w.IDs) + len(w.authors) + len(w.kinds)
	for _, t := range w.Tags {
		n += len(t.values)
	}
	return n
}

// effortOfCount is that of a look-up when every filter is about the readers'
// own: by them, or naming them. Of that there may be much, but it is his to
// wait for: after the first moments of it, others have their turn.
func effortOfCount(asks []store.Ask, wants []*Wanted) engine.Effort {
	for i, ask := range asks {
		f := ask.Filter
		if f.Search != "" || wants[i].values() > fewValues || !own(ask.Scope, f.Authors) && !own(ask.Scope, f.Tags["p"]) {
			return engine.Scan
		}
	}
	return engine.LookUp
}
