package session

import (
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/internal/relay"
)

// matcher is one live filter with what the gate granted for it. Its lists are
// sorted, so that a filter with thousands of values costs a search, not a scan.
type matcher struct {
	ids, authors []string
	kinds        []int
	tags         []tagValues
	since, until *nostr.Timestamp
	scope        gate.Scope
}

// tagValues is one "#x" list.
type tagValues struct {
	name   string
	values []string
}

func newMatcher(g relay.Granted) matcher {
	f := &g.Filter
	m := matcher{ids: sorted(f.IDs), authors: sorted(f.Authors), kinds: sorted(f.Kinds),
		since: f.Since, until: f.Until, scope: g.Scope}
	for name, values := range f.Tags {
		m.tags = append(m.tags, tagValues{name, sorted(values)})
	}
	// The list with the fewest values comes first: the index uses it.
	slices.SortFunc(m.tags, func(a, b tagValues) int { return len(a.values) - len(b.values) })
	return m
}

// sorted returns a sorted copy without repetitions; the filter itself may be in
// use by a query.
func sorted[T ~int | ~string](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// matches is NIP-01's: every member of the filter holds, since and until
// inclusive.
func (m *matcher) matches(ev *nostr.Event) bool {
	switch {
	case m.since != nil && ev.CreatedAt < *m.since,
		m.until != nil && ev.CreatedAt > *m.until,
		m.kinds != nil && !contains(m.kinds, ev.Kind),
		m.authors != nil && !contains(m.authors, ev.PubKey),
		m.ids != nil && !contains(m.ids, ev.ID):
		return false
	}
	for i := range m.tags {
		if !m.tags[i].match(ev.Tags) {
			return false
		}
	}
	return true
}

func (t *tagValues) match(tags nostr.Tags) bool {
	for _, tag := range tags {
		if len(tag) >= 2 && tag[0] == t.name && contains(t.values, tag[1]) {
			return true
		}
	}
	return false
}

func contains[T ~int | ~string](sorted []T, v T) bool {
	if len(sorted) <= 4 {
		return slices.Contains(sorted, v)
	}
	_, found := slices.BinarySearch(sorted, v)
	return found
}

// canMatch tells whether a filter can match anything: an empty list matches
// nothing.
func canMatch(f *nostr.Filter) bool {
	empty := f.IDs != nil && len(f.IDs) == 0 || f.Authors != nil && len(f.Authors) == 0 ||
		f.Kinds != nil && len(f.Kinds) == 0
	for _, values := range f.Tags {
		empty = empty || values != nil && len(values) == 0
	}
	return !empty
}

// valuesIn counts the values in all lists of a filter.
func valuesIn(f *nostr.Filter) int {
	n := len(f.IDs) + len(f.Authors) + len(f.Kinds)
	for _, values := range f.Tags {
		n += len(values)
	}
	return n
}

func countValues(filters []nostr.Filter) (n int) {
	for i := range filters {
		n += valuesIn(&filters[i])
	}
	return n
}
