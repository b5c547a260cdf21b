package recall

import (
	"cmp"
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
	// mostWeak is how many of the nearest stay in an answer that fits badly: scores say
	// little there.
	mostWeak = 5
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
	Beneath string // stands under its text, in whole lines
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
	best, weak := hits[0], fitOf(hits) != Strong
	n := 0
	return slices.DeleteFunc(hits, func(h Hit) bool {
		if n++; weak && n <= mostWeak || h.Why == ByLink || h.Fit == Strong && h.Why&ByMeaning != 0 || h.own() && best.own() && h.Covered >= best.Covered {
			return false
		}
		if h.Type == frontmatter.Episodic {
			return h.Score < talkTail*best.Score
		}
		return h.Score < tail*best.Score
	})
}

// maxSearched is how many documents a search returns at most.
const maxSearched = 1000

// Search returns the documents that have to do with the query, best first,
// however little they fit: it is for who looks a word up, and knows what to do
// with a bad hit. A word that no document has is also looked for as a part of
// words. Phrases must occur, as in Recall. What is only linked to such a document,
// or lies beside it in a session, is none of them.
func (x *Index) Search(q Query, w Weights, texts Texts) []Hit {
	q.parts = true
	s := x.search(q, w).score()
	hits := s.rank(maxSearched)
	hits = slices.DeleteFunc(hits, func(h Hit) bool { return h.Why&(ByTime|ByPerson) == 0 && !s.hasWord(h.doc) && s.a.phrases == nil })
	return s.settle(s.phrased(hits, texts))
}

// phrased leaves out the hits whose text lacks a phrase of the query.
func (s *search) phrased(hits []Hit, texts Texts) []Hit {
	if s.a.phrases == nil {
		return hits
	}
	return slices.DeleteFunc(hits, func(h Hit) bool {
		text, ok := texts(h.Slug)
		return !ok || !says(text, s.a.phrases)
	})
}

// hasWord reports whether one of the words stands in a document.
func (s *search) hasWord(doc int32) bool {
	d := &s.x.docs[doc]
	for at := d.from; at < d.to; at++ {
		if s.own[at] > 0 {
			return true
		}
	}
	return false
}

// Finder shows where in a text the words of a query stand.
type Finder struct{ terms map[string]int }

// Place is a word of a text that a query has.
type Place struct{ At, Term int } // in bytes; which of the terms

// maxFinds is how many places of one text are looked at.
const maxFinds = 500

// Finder returns one for a query of Search.
func (x *Index) Finder(q Query, w Weights) Finder {
	q.parts = true
	a := x.search(q, w).a
	f := Finder{terms: map[string]int{}}
	add := func(text string, term int) {
		if _, ok := f.terms[text]; !ok {
			f.terms[text] = term
		}
	}
	n := 0
	for _, t := range a.terms {
		for _, v := range t.at {
			add(v.text, n)
		}
		n++
	}
	for _, phrase := range a.phrases {
		for _, w := range phrase {
			for _, text := range x.stemsOf(w, languageIn(q.Text)) {
				add(text, n)
			}
			n++
		}
	}
	return f
}

// Terms is how many terms the query has.
func (f Finder) Terms() int {
	last := -1
	for _, n := range f.terms {
		last = max(last, n)
	}
	return last + 1
}

// Places returns where the terms of the query stand in a text, in order.
func (f Finder) Places(text string) []Place {
	var all []Place
	lang := languageIn(text)
	eachPlace(text, func(w word, at int) {
		t := w.text
		if !w.whole {
			t = lang.stem(w.text)
		}
		if term, ok := f.terms[t]; ok && len(all) < maxFinds {
			all = append(all, Place{at, term})
		}
	})
	slices.SortStableFunc(all, func(a, b Place) int { return cmp.Compare(a.At, b.At) }) // an identifier comes behind its parts
	return slices.CompactFunc(all, func(a, b Place) bool { return a.At == b.At })
}
