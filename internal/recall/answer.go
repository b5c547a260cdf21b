package recall

import (
	"slices"

	"engramd/nips/unit"
)

const (
	// fitsWords and fitsMeaning are θ and φ: below both, nothing fits. They were
	// chosen on the development half of LoCoMo, with the questions of other
	// conversations as those to which nothing fits (docs/benchmarks.md). φ is where
	// it lets nothing through that words do not, since models differ.
	fitsWords   = 0.35
	fitsMeaning = 0.75
	// maxHits is how many documents an answer looks at, maxPhrased among how many
	// a phrase is looked for.
	maxHits    = 50
	maxPhrased = 1000
)

// Texts gives the text of a memory, whole, by its slug; false if it is not to be
// had.
type Texts func(slug string) (text string, ok bool)

// Found is a hit of an answer.
type Found struct {
	Hit
	// Alike are documents of the answer that say nearly the same, and are not
	// listed themselves.
	Alike []Alike
}

// Alike is a near duplicate.
type Alike struct {
	Slug  string
	Trust unit.Trust
	// Differs are words that one of both has and the other has not.
	Differs []string
}

// Recall returns what fits the query, best first: with all its phrases, near
// duplicates beside the best of them, and nothing at all if the best fits too
// little.
func (x *Index) Recall(q Query, w Weights, texts Texts) []Found {
	a := x.read(q, w)
	most := maxHits
	if a.phrases != nil {
		most = maxPhrased
	}
	s := x.words(&a, w)
	hits := x.rank(q, w, &a, &s, most)
	if a.phrases != nil {
		hits = slices.DeleteFunc(hits, func(h Hit) bool {
			text, ok := texts(h.Slug)
			return !ok || !says(text, a.phrases)
		})
	}
	if len(hits) == 0 || !hits[0].fits(&a) {
		return nil
	}
	return x.collapse(x.settle(&a, &s, hits[:min(len(hits), maxHits)]), texts)
}

// fits reports whether a hit has enough to do with what was asked. A phrase, a
// date and a person alone were asked for as they are.
func (h *Hit) fits(a *asked) bool {
	if len(a.terms) == 0 || a.alone || a.phrases != nil {
		return true
	}
	return h.Covered >= fitsWords || h.Cosine >= fitsMeaning
}
