package query

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Wanted is a filter in the database's terms: lists without repeats, hex
// decoded. A nil list is no condition.
type Wanted struct {
	filter  nostr.Filter
	IDs     []engine.Value // []byte
	authors []engine.Value // []byte
	kinds   []engine.Value // int64
	Tags    []wantedTag    // in the order of tagRank
	since   int64
	until   int64
	None    bool // nothing can match
}

// wantedTag is one #x condition.
type wantedTag struct {
	name   string
	values []engine.Value // []byte or string, as key makes them
}

// Compile translates a filter. Limit and Search are left to the callers.
func Compile(f nostr.Filter) (*Wanted, error) {
	w := &Wanted{filter: f, since: math.MinInt64, until: math.MaxInt64}
	if f.Since != nil {
		w.since = int64(*f.Since)
	}
	if f.Until != nil {
		w.until = int64(*f.Until)
	}
	w.None = w.since > w.until
	if f.IDs != nil {
		w.IDs = w.list(blobs(f.IDs))
	}
	if f.Authors != nil {
		w.authors = w.list(blobs(f.Authors))
	}
	if f.Kinds != nil {
		kinds := make([]engine.Value, len(f.Kinds))
		for i, k := range f.Kinds {
			kinds[i] = int64(k)
		}
		w.kinds = w.list(kinds)
	}
	for name, values := range f.Tags {
		if values == nil {
			continue
		}
		if !record.IndexedTag(nostr.Tag{name, ""}) {
			return nil, fmt.Errorf("%w: tag %q is not indexed", store.ErrFilter, name)
		}
		w.Tags = append(w.Tags, wantedTag{name, w.list(keysOf(values))})
	}
	slices.SortFunc(w.Tags, func(a, b wantedTag) int {
		return cmp.Or(cmp.Compare(tagRank(a.name), tagRank(b.name)), cmp.Compare(a.name, b.name))
	})
	return w, nil
}

// list sorts and drops repeats; an empty list matches nothing.
func (w *Wanted) list(values []engine.Value) []engine.Value {
	if len(values) == 0 {
		w.None = true
		return values
	}
	slices.SortFunc(values, compareValues)
	return slices.CompactFunc(values, func(a, b engine.Value) bool { return compareValues(a, b) == 0 })
}

// compareValues orders as SQLite does: integers, TEXT, BLOBs.
func compareValues(a, b engine.Value) int {
	switch a := a.(type) {
	case int64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, b)
		}
		return -1
	case string:
		switch b := b.(type) {
		case int64:
			return 1
		case string:
			return cmp.Compare(a, b)
		}
		return -1
	case []byte:
		if b, ok := b.([]byte); ok {
			return bytes.Compare(a, b)
		}
	}
	return 1
}

// tagRank says how few events a tag value is expected to select: an address or
// a contract fewest, a topic most.
func tagRank(name string) int {
	switch name {
	case "d":
		return 0
	case "e", "a", "E", "A", "q", "i", "I", "x":
		return 1
	case "p", "P":
		return 2
	case "k", "K", "L", "l":
		return 4
	}
	return 3
}

// p is what the filter asks of p, nil if nothing.
func (w *Wanted) p() []engine.Value {
	for _, t := range w.Tags {
		if t.name == "p" {
			return t.values
		}
	}
	return nil
}

// d returns the condition on d, which comes before all others; nil if there is
// none.
func (w *Wanted) d() *wantedTag {
	if len(w.Tags) > 0 && w.Tags[0].name == "d" {
		return &w.Tags[0]
	}
	return nil
}

// allKinds reports whether kinds are given and all satisfy is.
func (w *Wanted) allKinds(is func(int) bool) bool {
	for _, k := range w.kinds {
		if !is(int(k.(int64))) {
			return false
		}
	}
	return len(w.kinds) > 0
}

// Columns adds the conditions on columns that events, history and quarantine
// have in common.
func (want *Wanted) Columns(w *Where) {
	w.And("e.created_at>=? AND e.created_at<=?", want.since, want.until)
	if want.IDs != nil {
		w.AndIn("e.id", want.IDs)
	}
	if want.kinds != nil {
		w.AndIn("e.kind", want.kinds)
	}
	if want.authors != nil {
		w.AndIn("e.pubkey", want.authors)
	}
}
