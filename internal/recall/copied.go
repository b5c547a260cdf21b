package recall

import (
	"cmp"
	"slices"

	"engramd/nips/unit"
)

const (
	// leastCopied is how many distinct stems a text needs before it can be told
	// to be a copy, and copied the share of them that one section has.
	leastCopied = 12
	copied      = 0.8
)

// CopiedFrom returns the external unit that a text was taken from, as far as
// words can tell: 80 % of its stems, and there are at least 12, stand in one
// section of that unit, or 80 % of the text are parts of which that is true.
// Whoever writes such a text writes external words, under whatever name.
func (x *Index) CopiedFrom(text string) (slug string, ok bool) {
	if !slices.ContainsFunc(x.docs, func(d document) bool { return d.from < d.to && d.trust == unit.External }) {
		return "", false
	}
	body := unit.Parse(text).Body()
	doc := x.origin(x.set(body), 1)
	if doc < 0 {
		doc = x.originOfParts(sections(body))
	}
	if doc < 0 {
		return "", false
	}
	return x.docs[doc].slug, true
}

// originOfParts returns the external document that most of a text is from, which
// was taken from several sections, -1 if there is none. Those need not begin and
// end where the parts do: a part is looked for in two that follow each other.
func (x *Index) originOfParts(parts []string) int32 {
	if len(parts) < 2 {
		return -1
	}
	all, from := 0, map[int32]int{} // stems
	for len(parts) > 0 {
		set := x.set(parts[0])
		for parts = parts[1:]; len(set) < leastCopied && len(parts) > 0; parts = parts[1:] {
			for t := range x.set(parts[0]) {
				set[t] = true
			}
		}
		all += len(set)
		if doc := x.origin(set, 2); doc >= 0 {
			from[doc] += len(set)
		}
	}
	taken, best := 0, int32(-1)
	for doc, n := range from {
		taken += n
		if best < 0 || cmp.Or(cmp.Compare(n, from[best]), cmp.Compare(best, doc)) > 0 {
			best = doc
		}
	}
	if float64(taken) < copied*float64(all) {
		return -1
	}
	return best
}

// origin returns the external document that has most of these stems, of at least
// 12, within that many sections, 1 or 2, that follow each other; -1 if there is
// none.
func (x *Index) origin(stems map[string]bool, window int32) int32 {
	if len(stems) < leastCopied {
		return -1
	}
	counts := make(map[int32]int) // by the first section
	for t := range stems {
		id, ok := x.terms[t]
		if !ok {
			continue
		}
		last := int32(-1) // counted for this stem
		for _, p := range x.posts[id] {
			at := p.section()
			doc := x.sections[at].doc
			if doc < 0 || x.docs[doc].trust != unit.External {
				continue
			}
			for first := max(at-window+1, x.docs[doc].from, last+1); first <= at; first++ {
				counts[first]++
				last = first
			}
		}
	}
	best := int32(-1)
	for at, n := range counts {
		if float64(n) >= copied*float64(len(stems)) && (best < 0 || n > counts[best] || n == counts[best] && at < best) {
			best = at
		}
	}
	if best < 0 {
		return -1
	}
	return x.sections[best].doc
}
