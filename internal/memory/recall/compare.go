package recall

import (
	"cmp"
	"math"
	"slices"

	"engramd/nips/frontmatter"
)

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
