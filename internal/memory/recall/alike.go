package recall

import (
	"maps"
	"slices"

	"engramd/internal/memory/quote"
	"engramd/nips/frontmatter"
)

const (
	// duplicate is the share of terms that two near duplicates have in common.
	duplicate = 0.9
	// maxDiffers is how many differing words are named.
	maxDiffers = 5
)

// collapse puts near duplicates beside the best of them. Texts that only look
// alike may differ in the one word that matters, so it is named.
func collapse(hits []Hit, texts Texts) []Found {
	var all []Found
	var sets []map[string]bool
	for _, h := range hits {
		text, ok := texts(h.Slug)
		set := stemsOf(text)
		at := slices.IndexFunc(sets, func(o map[string]bool) bool { return common(o, set) >= duplicate })
		if !ok || at < 0 || h.Notes() != nil || all[at].Notes() != nil { // what is said of one is said beside it
			all, sets = append(all, Found{Hit: h}), append(sets, set)
			continue
		}
		all[at].Alike = append(all[at].Alike, Alike{Slug: h.Slug, Trust: h.Trust, Differs: differing(sets[at], set)})
	}
	return all
}

// stemsOf returns the terms of a unit's body.
func stemsOf(text string) map[string]bool { return stemSet(frontmatter.Parse(text).Body()) }

func stemSet(words string) map[string]bool {
	set := make(map[string]bool)
	for _, t := range termsOf(words) {
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
			if shown := quote.Line(t); shown != "" && !pair[1][t] && len(words) < maxDiffers {
				words = append(words, shown)
			}
		}
	}
	return words
}
