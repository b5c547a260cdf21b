package recall

import (
	"maps"
	"slices"

	"engramd/nips/unit"
)

const (
	// duplicate is the share of terms that two near duplicates have in common.
	duplicate = 0.9
	// maxDiffers is how many differing words are named.
	maxDiffers = 5
)

// collapse puts near duplicates beside the best of them. Texts that only look
// alike may differ in the one word that matters, so it is named.
func (x *Index) collapse(hits []Hit, texts Texts) []Found {
	var all []Found
	var sets []map[string]bool
	for _, h := range hits {
		text, ok := texts(h.Slug)
		set := x.stems(text)
		at := slices.IndexFunc(sets, func(o map[string]bool) bool { return common(o, set) >= duplicate })
		if !ok || at < 0 {
			all, sets = append(all, Found{Hit: h}), append(sets, set)
			continue
		}
		all[at].Alike = append(all[at].Alike, Alike{Slug: h.Slug, Trust: h.Trust, Differs: differing(sets[at], set)})
	}
	return all
}

// stems returns the terms of a unit's body.
func (x *Index) stems(text string) map[string]bool {
	set := make(map[string]bool)
	for _, t := range x.lang.terms(unit.Parse(text).Body()) {
		set[t] = true
	}
	return set
}

// common is the share of all terms of two sets that both have; 0 of empty ones.
func common(a, b map[string]bool) float64 {
	both := 0
	for t := range a {
		if b[t] {
			both++
		}
	}
	return float64(both) / float64(max(1, len(a)+len(b)-both))
}

func differing(a, b map[string]bool) []string {
	var words []string
	for _, pair := range [][2]map[string]bool{{a, b}, {b, a}} {
		for _, t := range slices.Sorted(maps.Keys(pair[0])) {
			if !pair[1][t] && len(words) < maxDiffers {
				words = append(words, t)
			}
		}
	}
	return words
}

const (
	// leastCopied is how many distinct stems a text needs before it can be told
	// to be a copy, and copied the share of them that one section has.
	leastCopied = 12
	copied      = 0.8
)

// CopiedFrom returns the external unit that a text was taken from, as far as
// words can tell: 80 % of its stems, and there are at least 12, stand in one
// section of that unit. Whoever writes such a text writes external words, under
// whatever name.
func (x *Index) CopiedFrom(text string) (slug string, ok bool) {
	stems := x.stems(text)
	if len(stems) < leastCopied {
		return "", false
	}
	counts := make(map[int32]int)
	for t := range stems {
		id, ok := x.terms[t]
		if !ok {
			continue
		}
		for _, p := range x.posts[id] {
			if doc := x.sections[p.section()].doc; doc >= 0 && x.docs[doc].trust == unit.External {
				counts[p.section()]++
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
		return "", false
	}
	return x.docs[x.sections[best].doc].slug, true
}
