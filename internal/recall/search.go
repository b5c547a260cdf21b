package recall

import "slices"

// maxSearched is how many documents a search returns at most.
const maxSearched = 1000

// Search returns the documents that have to do with the query, best first,
// however little they fit: it is for who looks a word up, and knows what to do
// with a bad hit. A word that no document has is also looked for as a part of
// words. Phrases must occur, as in Recall.
func (x *Index) Search(q Query, w Weights, texts Texts) []Hit {
	q.parts = true
	a := x.read(q, w)
	hits := x.rank(q, w, &a, maxSearched)
	if a.phrases != nil {
		hits = slices.DeleteFunc(hits, func(h Hit) bool {
			text, ok := texts(h.Slug)
			return !ok || !says(text, a.phrases)
		})
	}
	for i := range hits {
		hits[i].SupersededBy = x.supersededBy(&hits[i])
	}
	return hits
}

// Finder shows where in a text the words of a query stand.
type Finder struct {
	lang  language
	terms map[string]bool
}

// Finder returns one for a query of Search.
func (x *Index) Finder(q Query, w Weights) Finder {
	q.parts = true
	a := x.read(q, w)
	f := Finder{lang: x.lang, terms: map[string]bool{}}
	for _, t := range a.terms {
		f.terms[t.text] = true
	}
	for _, phrase := range a.phrases {
		for _, word := range phrase {
			f.terms[x.lang.stemmed(word)] = true
		}
	}
	return f
}

// Terms is how many terms the query has.
func (f Finder) Terms() int { return len(f.terms) }

// Places returns where each term of the query stands in a text for the first
// time, in bytes, in order.
func (f Finder) Places(text string) []int {
	var at []int
	seen := map[string]bool{}
	eachPlace(text, func(w word, place int) {
		t := w.text
		if !w.whole {
			t = f.lang.stemmed(w.text)
		}
		if f.terms[t] && !seen[t] {
			seen[t] = true
			at = append(at, place)
		}
	})
	return at
}
