package recall

import (
	"cmp"
	"maps"
	"math"
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
	both := shares(a, b)
	return float64(both) / float64(max(1, len(a)+len(b)-both))
}

// shares counts what two sets both have.
func shares[T comparable](a, b map[T]bool) (n int) {
	for t := range a {
		if b[t] {
			n++
		}
	}
	return n
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

const (
	// maxCompare is how many sections of a text are compared, and maxNamed how many
	// differing words of each are named, if they are no longer than longestNamed.
	maxCompare   = 8
	maxNamed     = 3
	longestNamed = 32
)

// Compare says how much of what two texts say both say, 0 to 1, in the sections
// that are most alike, and in which words these differ: those of the first, then
// those of the second, the rarest of each first. Texts may be alike but for the one
// word that matters.
func (x *Index) Compare(a, b string) (shared float64, differs []string) {
	as, bs := spokenIn(a), spokenIn(b)
	var own, other spoken
	for _, s := range as {
		for _, o := range bs {
			share := max(x.said(s.terms, o.terms), x.said(o.terms, s.terms))
			// Sums of the same numbers in another order differ in their last digits.
			if share = math.Round(share*1e6) / 1e6; share > shared {
				shared, own, other = share, s, o
			}
		}
	}
	if shared > 0 {
		differs = append(x.lacking(own, other), x.lacking(other, own)...)
	}
	return shared, differs
}

// spoken is a section as its terms, with the words that they were.
type spoken struct {
	terms map[string]bool
	words map[string]string
}

func spokenIn(text string) []spoken {
	all := sections(frontmatter.Parse(text).Body())
	out := make([]spoken, 0, maxCompare)
	for _, section := range all[:min(len(all), maxCompare)] {
		s := spoken{map[string]bool{}, map[string]string{}}
		words := spokenWords(section)
		lang := languageOf(words, section)
		for _, w := range words {
			if t := lang.term(w); t != "" && !w.extra && !s.terms[t] {
				s.terms[t], s.words[t] = true, w.text
			}
		}
		out = append(out, s)
	}
	return out
}

// lacking names words of a section that another one has not.
func (x *inverted) lacking(s, other spoken) []string {
	var terms, words []string
	for t := range s.terms {
		if !other.terms[t] && len(s.words[t]) <= longestNamed {
			terms = append(terms, t)
		}
	}
	slices.SortFunc(terms, func(a, b string) int { return cmp.Or(cmp.Compare(x.having(a), x.having(b)), cmp.Compare(a, b)) })
	for _, t := range terms[:min(len(terms), maxNamed)] {
		words = append(words, s.words[t])
	}
	return words
}
