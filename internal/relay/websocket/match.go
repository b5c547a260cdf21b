package websocket

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/gate"
)

// hasher makes the numbers by which values are found. They depend on a secret,
// so that nobody can choose values that share one; where two do all the same,
// the values themselves are compared.
type hasher struct{ seed maphash.Seed }

func newHasher() hasher { return hasher{maphash.MakeSeed()} }

// value returns the number of a value of a field; tag is the letter for byTag.
func (h hasher) value(f field, tag byte, value string) uint64 {
	return maphash.String(h.seed, value) ^ (uint64(f)<<8|uint64(tag))*0x9e3779b97f4a7c15
}

// kind returns the number of a kind.
func (h hasher) kind(kind int) uint64 { return maphash.Comparable(h.seed, kind) ^ byKind.salt() }

// all returns the number that stands for every event.
func (h hasher) all() uint64 { return h.value(byAll, 0, "") }

func (f field) salt() uint64 { return uint64(f) << 56 }

// matcher is one live filter with what the gate granted for it. Its lists are
// sorted, so that a filter with thousands of values costs a search, not a scan.
type matcher struct {
	ids, authors values
	kinds        []int
	tags         []tagValues
	since, until *nostr.Timestamp
	scope        gate.Scope
}

// values is a list of values sorted by their numbers. The zero value is none.
type values struct {
	hashes []uint64
	texts  []string
}

// tagValues is one "#x" list.
type tagValues struct {
	name byte
	values
}

func newMatcher(h hasher, g relay.Granted) matcher {
	f := &g.Filter
	m := matcher{
		ids: newValues(h, byID, 0, f.IDs), authors: newValues(h, byAuthor, 0, f.Authors), kinds: sorted(f.Kinds),
		since: f.Since, until: f.Until, scope: g.Scope,
	}
	for name, list := range f.Tags {
		if len(list) > 0 {
			m.tags = append(m.tags, tagValues{name[0], newValues(h, byTag, name[0], list)})
		}
	}
	// The list with the fewest values comes first: the index uses it.
	slices.SortFunc(m.tags, func(a, b tagValues) int { return len(a.hashes) - len(b.hashes) })
	return m
}

// newValues copies a list, which may be in use by a query, without repetitions.
func newValues(h hasher, f field, tag byte, list []string) values {
	if len(list) == 0 {
		return values{}
	}
	type pair struct {
		hash uint64
		text string
	}
	pairs := make([]pair, len(list))
	for i, text := range list {
		pairs[i] = pair{h.value(f, tag, text), text}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.text, b.text)) })
	pairs = slices.Compact(pairs)
	v := values{make([]uint64, len(pairs)), make([]string, len(pairs))}
	for i, p := range pairs {
		v.hashes[i], v.texts[i] = p.hash, p.text
	}
	return v
}

// sorted returns a sorted copy without repetitions.
func sorted(list []int) []int {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// has reports whether a value with its number is in the list.
func (v *values) has(hash uint64, text string) bool {
	i, found := slices.BinarySearch(v.hashes, hash)
	if !found {
		return false
	}
	for ; i < len(v.hashes) && v.hashes[i] == hash; i++ {
		if v.texts[i] == text {
			return true
		}
	}
	return false
}

// meets reports whether one of an event's tags, sorted as the list is, is in
// the list. Each of the shorter is looked for in what is left of the longer:
// the comparisons are at most a few for each, however long the other.
func (v *values) meets(tags []hashedTag) (met bool, comparisons int) {
	if len(tags) > len(v.hashes) {
		for i, at := 0, 0; i < len(v.hashes) && at < len(tags); i++ {
			at += seek(len(tags)-at, func(n int) bool { return tags[at+n].hash >= v.hashes[i] })
			for n := at; n < len(tags) && tags[n].hash == v.hashes[i]; n++ {
				if tags[n].value == v.texts[i] {
					return true, comparisons
				}
			}
			comparisons++
		}
		return false, comparisons
	}
	for i, at := 0, 0; i < len(tags) && at < len(v.hashes); i++ {
		at += seek(len(v.hashes)-at, func(n int) bool { return v.hashes[at+n] >= tags[i].hash })
		for n := at; n < len(v.hashes) && v.hashes[n] == tags[i].hash; n++ {
			if v.texts[n] == tags[i].value {
				return true, comparisons
			}
		}
		comparisons++
	}
	return false, comparisons
}

// seek finds the first of n for which reached holds, which it does for all that
// follow: near the beginning with few questions.
func seek(n int, reached func(int) bool) int {
	low, high := 0, 1
	for high <= n && !reached(high-1) {
		low, high = high, 2*high
	}
	high = min(high-1, n)
	for low < high {
		if mid := int(uint(low+high) >> 1); reached(mid) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

// matches is NIP-01's: every member of the filter holds, since and until
// inclusive. comparisons is the work done, in look-ups.
func (m *matcher) matches(n *news) (yes bool, comparisons int) {
	ev := n.Event
	switch {
	case m.since != nil && ev.CreatedAt < *m.since,
		m.until != nil && ev.CreatedAt > *m.until,
		m.kinds != nil && !contains(m.kinds, ev.Kind),
		m.authors.hashes != nil && !m.authors.has(n.author, ev.PubKey),
		m.ids.hashes != nil && !m.ids.has(n.id, ev.ID):
		return false, 1
	}
	comparisons = 1
	for i := range m.tags {
		met, cost := m.tags[i].meets(n.tagged(m.tags[i].name))
		comparisons += 1 + cost
		if !met {
			return false, comparisons
		}
	}
	return true, comparisons
}

func contains(sorted []int, v int) bool {
	if len(sorted) <= 4 {
		return slices.Contains(sorted, v)
	}
	_, found := slices.BinarySearch(sorted, v)
	return found
}

// canMatch reports whether a filter can match anything: an empty list matches
// nothing.
func canMatch(f *nostr.Filter) bool {
	empty := f.IDs != nil && len(f.IDs) == 0 || f.Authors != nil && len(f.Authors) == 0 ||
		f.Kinds != nil && len(f.Kinds) == 0
	for _, values := range f.Tags {
		empty = empty || values != nil && len(values) == 0
	}
	return !empty
}
