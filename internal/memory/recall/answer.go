package recall

import (
	"slices"

	"engramd/nips/frontmatter"
)

const (
	// maxHits is how many documents an answer looks at, maxPhrased among how many
	// a phrase is looked for.
	maxHits    = 20
	maxPhrased = 1000
	// An answer ends below this share of the best score; talkTail is that of a talk,
	// whose lines say little each.
	tail     = 0.35
	talkTail = 0.25
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
	// Project is what the project is called whose it is, "" for none and the asker's
	// own. Kept says that it has its place in a block, and is not written there.
	Project string
	Kept    bool
}

// Alike is a near duplicate.
type Alike struct {
	Slug  string
	Trust frontmatter.Trust
	// Differs are words that one of both has and the other has not.
	Differs []string
}

// Recall returns the best that a query finds by a reason of their own, best first,
// with all its phrases, near duplicates beside the best of them.
func (x *Index) Recall(q Query, w Weights, texts Texts) []Found {
	s, hits := x.fitting(q, w, texts)
	return collapse(s.settle(hits), texts)
}

// Fitting is how many Recall finds, near duplicates counted each.
func (x *Index) Fitting(q Query, w Weights, texts Texts) int {
	_, hits := x.fitting(q, w, texts)
	return len(hits)
}

func (x *Index) fitting(q Query, w Weights, texts Texts) (s *search, hits []Hit) {
	s = x.search(q, w)
	a := &s.a
	a.terms = x.rare(a.terms, commonAsked)
	most := maxHits
	if a.phrases != nil {
		most = maxPhrased
	}
	hits = s.score().rank(most)
	if len(hits) == 0 && !q.parts && a.phrases == nil { // rather a part of a word than nothing
		q.parts, q.looked = true, nil
		return x.fitting(q, w, texts)
	}
	hits = s.phrased(hits, texts)
	hits = hits[:min(len(hits), maxHits)]
	judge(hits, a, q.parts)
	return s, cutTail(leaning(hits))
}

// mostLinked is how many hits come by a link alone.
const mostLinked = 3

// leaning leaves out what is only linked, but for a few links to a hit that fits well.
func leaning(hits []Hit) []Hit {
	fits, linked := map[int32]bool{}, 0
	for _, h := range hits {
		fits[h.doc] = h.Fit == Strong
	}
	return slices.DeleteFunc(hits, func(h Hit) bool {
		if h.Why != ByLink {
			return false
		}
		linked++
		return !fits[h.via] || linked > mostLinked
	})
}

// cutTail leaves out what is much worse than the best, and has less of the query.
func cutTail(hits []Hit) []Hit {
	if len(hits) == 0 {
		return hits
	}
	best := hits[0]
	return slices.DeleteFunc(hits, func(h Hit) bool {
		if h.Why == ByLink || h.Fit == Strong && h.Why&ByMeaning != 0 || h.own() && best.own() && h.Covered >= best.Covered {
			return false
		}
		if h.Type == frontmatter.Episodic {
			return h.Score < talkTail*best.Score
		}
		return h.Score < tail*best.Score
	})
}
